using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace FastCgi.AspNetCore.Soak;

/// <summary>The answer of one request.</summary>
internal sealed record Answer(string Head, byte[] Body, bool IsComplete)
{
    public string Text => Encoding.UTF8.GetString(Body);

    public bool HasStatus(int status) => Head.Contains($"Status: {status}", StringComparison.Ordinal);
}

/// <summary>A connection of a web server made by hand, which gives each request another id, from 1 to 65,535 and again.</summary>
internal sealed class SoakConnection : IDisposable
{
    private readonly Socket _socket;
    private readonly byte[] _buffer = new byte[256 * 1024];
    private int _start, _end;
    private ushort _lastId;

    private SoakConnection(Socket socket, ushort lastId)
    {
        _socket = socket;
        _lastId = lastId;
    }

    /// <summary>How often the ids have begun again.</summary>
    public int WrapCount { get; private set; }

    public static async Task<SoakConnection> ConnectAsync(EndPoint endPoint, ushort lastId = 0)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        if (endPoint is IPEndPoint)
            socket.NoDelay = true;
        await socket.ConnectAsync(endPoint);
        return new SoakConnection(socket, lastId);
    }

    public ushort NextId()
    {
        if (_lastId == ushort.MaxValue)
        {
            _lastId = 0;
            WrapCount++;
        }

        return ++_lastId;
    }

    public async Task SendAsync(byte[] bytes)
    {
        for (var sent = 0; sent < bytes.Length;)
            sent += await _socket.SendAsync(bytes.AsMemory(sent));
    }

    /// <summary>Reads the answers of requests, in whatever order they come.</summary>
    public async Task<Dictionary<int, Answer>> ReadAsync(params int[] ids)
    {
        var open = ids.ToDictionary(static id => id, static _ => (Content: new MemoryStream(), IsFinished: false));
        var answers = new Dictionary<int, Answer>();
        while (open.Count > 0)
        {
            await FillAsync(8);
            var length = BinaryPrimitives.ReadUInt16BigEndian(_buffer.AsSpan(_start + 4));
            var (type, id, padding) = (_buffer[_start + 1], BinaryPrimitives.ReadUInt16BigEndian(_buffer.AsSpan(_start + 2)), _buffer[_start + 6]);
            await FillAsync(8 + length + padding);
            var (content, isFinished) = open.TryGetValue(id, out var found) ? found : throw new InvalidDataException($"A record of type {type} for request {id}, which is not open.");
            if (type == RecordBytes.Stdout && !isFinished)
            {
                content.Write(_buffer, _start + 8, length);
                open[id] = (content, length == 0);
            }
            else if (type == RecordBytes.EndRequest)
            {
                open.Remove(id);
                answers[id] = Parse(content.ToArray(), isFinished);
            }
            else
            {
                throw new InvalidDataException($"A record of type {type} for request {id}.");
            }

            _start += 8 + length + padding;
        }

        return answers;
    }

    /// <summary>Waits until the server has closed.</summary>
    public async Task ReadEndAsync()
    {
        if (_start != _end || await _socket.ReceiveAsync(_buffer.AsMemory(0, 1)) != 0)
            throw new InvalidDataException("The server sent something behind its last answer.");
    }

    public void Dispose() => _socket.Dispose();

    private static Answer Parse(byte[] stdout, bool isFinished)
    {
        var end = stdout.AsSpan().IndexOf("\r\n\r\n"u8);
        return end < 0 ? new Answer("", stdout, isFinished) : new Answer(Encoding.Latin1.GetString(stdout, 0, end), stdout[(end + 4)..], isFinished);
    }

    private async Task FillAsync(int length)
    {
        if (_buffer.Length - _start < length)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            (_start, _end) = (0, _end - _start);
        }

        while (_end - _start < length)
        {
            if (_start == _end)
                _start = _end = 0;
            var read = await _socket.ReceiveAsync(_buffer.AsMemory(_end));
            if (read == 0)
                throw new EndOfStreamException("The server closed the connection.");
            _end += read;
        }
    }
}
