using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace FastCgi.AspNetCore.Testing;

/// <summary>A web server made by hand, which knows the server only by its address.</summary>
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

    /// <summary>The port from which it connects.</summary>
    public int LocalPort => ((IPEndPoint)_socket.LocalEndPoint!).Port;

    /// <summary>Asks for a page on a connection of its own and gives back the text of the answer, which must be a 200.</summary>
    public static async Task<string> GetAsync(string address, string uri = "/")
    {
        using var client = await ConnectAsync(address);
        await client.SendAsync(uri);
        return await client.ReadTextAsync();
    }

    /// <inheritdoc cref="GetAsync(string, string)"/>
    public static async Task<string> GetAsync(EndPoint endPoint, string uri)
    {
        using var client = await ConnectAsync(endPoint);
        await client.SendAsync(uri);
        return await client.ReadTextAsync();
    }

    /// <summary>Connects to where the server says that it listens.</summary>
    public static Task<FastCgiClient> ConnectAsync(string address)
        => ConnectAsync(address.StartsWith(UnixPrefix, StringComparison.Ordinal)
            ? new UnixDomainSocketEndPoint(address[UnixPrefix.Length..])
            : IPEndPoint.Parse(address[TcpPrefix.Length..]));

    /// <summary>Connects.</summary>
    public static async Task<FastCgiClient> ConnectAsync(EndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            await socket.ConnectAsync(endPoint).WaitAsync(Waiting.Patience);
            return new FastCgiClient(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Sends a request; the connection is closed behind its answer.</summary>
    public Task SendAsync(string uri) => SendRawAsync(RecordBytes.Get(1, uri, keepConnection: false));

    /// <summary>Sends any bytes.</summary>
    public async Task SendRawAsync(byte[] bytes) => await _stream.WriteAsync(bytes);

    /// <summary>Reads the answer: the text behind the header block, if the status is 200.</summary>
    public async Task<string> ReadTextAsync()
    {
        var stdout = new MemoryStream();
        var header = new byte[8];
        while (true)
        {
            await ReadAsync(header);
            var content = new byte[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4))];
            await ReadAsync(content);
            await ReadAsync(new byte[header[6]]);
            if (header[1] == RecordBytes.EndRequest)
                break;

            Assert.Equal(RecordBytes.Stdout, header[1]);
            stdout.Write(content);
        }

        var text = Encoding.UTF8.GetString(stdout.ToArray());
        var end = text.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        Assert.Contains("Status: 200", text[..end], StringComparison.Ordinal);
        return text[(end + 4)..];
    }

    public void Dispose()
    {
        _stream.Dispose();
        _socket.Dispose();
    }

    private async Task ReadAsync(byte[] buffer) => await _stream.ReadExactlyAsync(buffer).AsTask().WaitAsync(Waiting.Patience);
}
