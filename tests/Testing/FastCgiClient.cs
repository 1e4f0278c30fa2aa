using System.Buffers.Binary;
using System.Text;

namespace FastCgi.AspNetCore.Testing;

public sealed record ReceivedRecord(byte Type, int Id, byte[] Content);

/// <summary>A hand-written web server, which knows only the server's address.</summary>
public sealed class FastCgiClient : IDisposable
{
    private const string UnixPrefix = "fastcgi://unix:";
    private const string TcpPrefix = "fastcgi://";

    private readonly Socket _socket;
    private readonly NetworkStream _stream;

    private FastCgiClient(Socket socket)
    {
        _socket = socket;
        _stream = new NetworkStream(socket);
    }

    public int LocalPort => ((IPEndPoint)_socket.LocalEndPoint!).Port;

    /// <summary>
    /// Requests a page on a new connection and returns the text of the response, which must be a 200.
    /// </summary>
    public static async Task<string> GetAsync(string address, string uri = "/")
    {
        using var client = await ConnectAsync(address);
        await client.SendAsync(uri, keepConnection: false);
        return await client.ReadTextAsync();
    }

    public static async Task<string> GetAsync(EndPoint endPoint, string uri)
    {
        using var client = await ConnectAsync(endPoint);
        await client.SendAsync(uri, keepConnection: false);
        return await client.ReadTextAsync();
    }

    /// <summary>Connects to an address that the server reports.</summary>
    public static Task<FastCgiClient> ConnectAsync(string address)
        => ConnectAsync(address.StartsWith(UnixPrefix, StringComparison.Ordinal)
            ? new UnixDomainSocketEndPoint(address[UnixPrefix.Length..])
            : IPEndPoint.Parse(address[TcpPrefix.Length..]));

    /// <param name="receiveBufferSize">How much the system receives before it is read, if not the usual.</param>
    public static async Task<FastCgiClient> ConnectAsync(EndPoint endPoint, int? receiveBufferSize = null)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        if (receiveBufferSize is { } size)
            socket.ReceiveBufferSize = size;
        try
        {
            await ConnectAsync(socket, endPoint).WaitAsync(Waiting.Patience);
            return new FastCgiClient(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Retries while the backlog of a Unix socket is full, as web servers do.</summary>
    private static async Task ConnectAsync(Socket socket, EndPoint endPoint)
    {
        while (true)
        {
            try
            {
                await socket.ConnectAsync(endPoint);
                return;
            }
            catch (SocketException exception)
                when (exception.SocketErrorCode is SocketError.WouldBlock or SocketError.TryAgain)
            {
                await Task.Yield();
            }
        }
    }

    /// <summary>Whether connections are refused.</summary>
    public static async Task<bool> IsRefusedAsync(EndPoint endPoint)
    {
        try
        {
            using var client = await ConnectAsync(endPoint);
            return false;
        }
        catch (SocketException)
        {
            return true;
        }
    }

    public Task SendAsync(byte[] bytes) => _stream.WriteAsync(bytes).AsTask().Within("the server to receive");

    /// <summary>Sends a request without a body.</summary>
    public Task SendAsync(string uri, bool keepConnection = true, string method = "GET")
        => SendAsync(RecordBytes.Get(1, uri, keepConnection, method));

    /// <summary>Sends a request and reads its response, on a persistent connection.</summary>
    public async Task<string> GetAsync(string uri)
    {
        await SendAsync(uri);
        return Encoding.UTF8.GetString(await ReadBodyAsync());
    }

    /// <summary>Reads a record.</summary>
    /// <returns><see langword="null"/> if the connection has been closed.</returns>
    public async Task<ReceivedRecord?> ReadRecordAsync()
    {
        var header = new byte[8];
        var read = await _stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false)
            .AsTask()
            .Within("a record");
        if (read == 0)
            return null;

        Assert.Equal(header.Length, read);
        if (header.SequenceEqual(RecordBytes.Cut))
            return new ReceivedRecord(RecordBytes.CutMark, 0, []);

        var content = new byte[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4)) + header[6]];
        await _stream.ReadExactlyAsync(content).AsTask().Within("the content of a record");
        return new ReceivedRecord(
            header[1], BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(2)), content[..^header[6]]);
    }

    /// <summary>Reads to the end of a request.</summary>
    public async Task<byte[]> ReadResponseAsync(int id = 1)
    {
        using var content = new MemoryStream();
        while (true)
        {
            var record = await ReadRecordAsync() ?? throw new EndOfStreamException(
                $"Closed after {content.Length} bytes of an answer.");
            if (record.Type == RecordBytes.CutMark)
                throw new EndOfStreamException($"Cut after {content.Length} bytes of an answer.");

            Assert.Equal(id, record.Id);
            if (record.Type == RecordBytes.EndRequest)
                return content.ToArray();

            Assert.Equal(RecordBytes.Stdout, record.Type);
            content.Write(record.Content);
        }
    }

    /// <summary>Reads to the end of a request.</summary>
    public async Task<byte[]> ReadBodyAsync(int id = 1)
    {
        var response = await ReadResponseAsync(id);
        return response[(response.AsSpan().IndexOf("\r\n\r\n"u8) + 4)..];
    }

    /// <summary>Reads the response: the text after the header block. The status must be 200.</summary>
    public async Task<string> ReadTextAsync()
    {
        var text = Encoding.UTF8.GetString(await ReadResponseAsync());
        var end = text.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        Assert.Contains("Status: 200", text[..end]);
        return text[(end + 4)..];
    }

    /// <summary>Reads a response with any status.</summary>
    /// <returns>Header block and body, or <see langword="null"/> if the connection closes first.</returns>
    public async Task<string?> TryReadAnswerAsync()
    {
        try
        {
            return Encoding.UTF8.GetString(await ReadResponseAsync());
        }
        catch (IOException)
        {
            return null;
        }
    }

    /// <summary>Reads until the server closes or resets the connection.</summary>
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

    /// <summary>Stops sending, and continues to receive.</summary>
    public void EndSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Resets the connection.</summary>
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
