using System.Net;
using System.Text;

namespace FastCgi.AspNetCore.Soak;

internal sealed record Answer(string Head, byte[] Body, bool IsComplete)
{
    public string Text => Encoding.UTF8.GetString(Body);

    public bool HasStatus(int status) => Head.Contains($"Status: {status}", StringComparison.Ordinal);
}

/// <summary>A connection that numbers its requests from 1 to 65,535, and then starts again.</summary>
internal sealed class SoakConnection : IDisposable
{
    private readonly FastCgiClient _client;
    private ushort _lastId;

    private SoakConnection(FastCgiClient client, ushort lastId)
    {
        _client = client;
        _lastId = lastId;
    }

    /// <summary>How often the ids have wrapped around.</summary>
    public int WrapCount { get; private set; }

    public static async Task<SoakConnection> ConnectAsync(EndPoint endPoint, ushort lastId)
        => new(await FastCgiClient.ConnectAsync(endPoint), lastId);

    public ushort NextId()
    {
        if (_lastId == ushort.MaxValue)
        {
            _lastId = 0;
            WrapCount++;
        }

        return ++_lastId;
    }

    public Task SendAsync(byte[] bytes) => _client.SendAsync(bytes);

    /// <summary>Reads the responses of requests in any order.</summary>
    public async Task<Dictionary<int, Answer>> ReadAsync(params int[] ids)
    {
        var open = ids.ToDictionary(static id => id, static _ => (Content: new MemoryStream(), IsFinished: false));
        var answers = new Dictionary<int, Answer>();
        while (open.Count > 0)
        {
            var record = await _client.ReadRecordAsync() ?? throw new EndOfStreamException(
                "The server closed the connection.");
            var (content, isFinished) = open.TryGetValue(record.Id, out var found)
                ? found
                : throw new InvalidDataException($"{record} is of no request that is open.");
            if (record.Type == RecordBytes.Stdout && !isFinished)
            {
                content.Write(record.Content);
                open[record.Id] = (content, record.Content.Length == 0);
            }
            else if (record.Type == RecordBytes.EndRequest)
            {
                open.Remove(record.Id);
                answers[record.Id] = Parse(content.ToArray(), isFinished);
            }
            else
            {
                throw new InvalidDataException($"{record} is not expected.");
            }
        }

        return answers;
    }

    /// <summary>Waits until the server has closed.</summary>
    public async Task ReadEndAsync()
    {
        if (await _client.ReadRecordAsync() is { } record)
            throw new InvalidDataException($"The server sent {record} behind its last answer.");
    }

    public void Dispose() => _client.Dispose();

    private static Answer Parse(byte[] stdout, bool isFinished)
    {
        var end = stdout.AsSpan().IndexOf("\r\n\r\n"u8);
        return end < 0
            ? new Answer("", stdout, isFinished)
            : new Answer(Encoding.Latin1.GetString(stdout, 0, end), stdout[(end + 4)..], isFinished);
    }
}
