using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace FastCgi.AspNetCore.TransportTests.Harness;

/// <summary>A record that was received.</summary>
internal sealed record ReceivedRecord(byte Type, int Id, byte[] Content);

/// <summary>The web server's end of one connection.</summary>
internal sealed class WebServer : IDisposable
{
    private readonly Socket _socket;
    private readonly NetworkStream _stream;

    private WebServer(Socket socket)
    {
        _socket = socket;
        _stream = new NetworkStream(socket);
    }

    public static async Task<WebServer> ConnectAsync(EndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(endPoint);
        return new WebServer(socket);
    }

    public Task SendAsync(byte[] bytes) => _stream.WriteAsync(bytes).AsTask().Within("the server to receive");

    /// <summary>Sends a request, and reads its answer.</summary>
    /// <returns>The body.</returns>
    public async Task<string> GetAsync(string uri)
    {
        await SendAsync(RecordBytes.Get(uri: uri));
        return Encoding.ASCII.GetString(await ReadBodyAsync());
    }

    /// <summary>Reads to the end of a request.</summary>
    /// <returns>Header block and body.</returns>
    public async Task<byte[]> ReadResponseAsync(int id = 1)
    {
        using var content = new MemoryStream();
        while (true)
        {
            var record = await ReadRecordAsync() ?? throw new EndOfStreamException($"Closed after {content.Length} bytes of an answer.");
            Assert.Equal(id, record.Id);
            if (record.Type == RecordBytes.EndRequest)
                return content.ToArray();

            Assert.Equal(RecordBytes.Stdout, record.Type);
            content.Write(record.Content);
        }
    }

    /// <summary>Reads to the end of a request.</summary>
    /// <returns>The body.</returns>
    public async Task<byte[]> ReadBodyAsync(int id = 1)
    {
        var response = await ReadResponseAsync(id);
        return response[(response.AsSpan().IndexOf("\r\n\r\n"u8) + 4)..];
    }

    /// <summary>Reads a record.</summary>
    /// <returns><see langword="null"/> if the connection has been closed.</returns>
    public async Task<ReceivedRecord?> ReadRecordAsync()
    {
        var header = new byte[8];
        var read = await _stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false).AsTask().Within("a record");
        if (read == 0)
            return null;

        Assert.Equal(header.Length, read);
        var content = new byte[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4)) + header[6]];
        await _stream.ReadExactlyAsync(content).AsTask().Within("the content of a record");
        return new ReceivedRecord(header[1], BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(2)), content[..^header[6]]);
    }

    /// <summary>Reads until the server has closed the connection, in whatever way.</summary>
    public async Task ReadToEndAsync()
    {
        try
        {
            while (await ReadRecordAsync() is not null)
            {
            }
        }
        catch (IOException)
        {
            // Reset.
        }
    }

    /// <summary>Closes the connection so that it looks lost.</summary>
    public void Reset()
    {
        _socket.LingerState = new LingerOption(enable: true, seconds: 0);
        Dispose();
    }

    public void Dispose()
    {
        _stream.Dispose();
        _socket.Dispose();
    }
}
