using System.Buffers.Binary;

namespace FastCgi.Client.Tests.Harness;

/// <summary>The application's side of a connection.</summary>
internal sealed class ScriptedConnection(Socket socket) : IDisposable
{
    private readonly NetworkStream _stream = new(socket, ownsSocket: true);

    public static byte[] EndOfRequest(int id = 1, int appStatus = 0, int protocolStatus = 0)
        => Record(EndRequest, id, [
            (byte)(appStatus >> 24), (byte)(appStatus >> 16), (byte)(appStatus >> 8), (byte)appStatus,
            (byte)protocolStatus, 0, 0, 0]);

    /// <summary>A complete response.</summary>
    public static byte[] Answer(string text, int id = 1, int appStatus = 0)
        => [.. Record(Stdout, id, System.Text.Encoding.Latin1.GetBytes(text)), .. Record(Stdout, id), .. EndOfRequest(
            id, appStatus)];

    public Task SendAsync(byte[] bytes) => _stream.WriteAsync(bytes).AsTask().Within("the client to receive");

    /// <returns><see langword="null"/> if the client has closed or reset the connection.</returns>
    public async Task<ReceivedRecord?> ReadRecordAsync()
    {
        if (await ReadAsync(8) is not { } header)
            return null;

        Assert.Equal(1, header[0]);
        var length = BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4));
        var content = await ReadAsync(length + header[6]);
        return new ReceivedRecord(
            header[1], BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(2)), content![..length]);
    }

    /// <summary>Reads the records of a request, up to the end of STDIN.</summary>
    public async Task<List<ReceivedRecord>> ReadRequestAsync()
    {
        var records = new List<ReceivedRecord>();
        while (true)
        {
            var record = await ReadRecordAsync()
                ?? throw new EndOfStreamException("The client has closed the connection.");
            records.Add(record);
            if (record is { Type: Stdin, Content.Length: 0 })
                return records;
        }
    }

    /// <summary>Reads a request, and answers it.</summary>
    public async Task AnswerAsync(string text)
    {
        await ReadRequestAsync();
        await SendAsync(Answer(text));
    }

    public async Task<byte[]?> ReadAsync(int length)
    {
        var bytes = new byte[length];
        try
        {
            return await _stream.ReadAtLeastAsync(bytes, length, throwOnEndOfStream: false).AsTask().Within(
                "the client to send") == length ? bytes : null;
        }
        catch (IOException)
        {
            return null;
        }
    }

    public void Dispose() => _stream.Dispose();
}
