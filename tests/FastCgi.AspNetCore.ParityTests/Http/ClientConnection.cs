using System.Security.Cryptography.X509Certificates;

namespace FastCgi.AspNetCore.ParityTests.Http;

/// <summary>
/// A client's HTTP/1.1 connection that sends and shows the exact bytes, which <see cref="HttpClient"/> would normalize.
/// It stays open for the next request if the server keeps it open.
/// </summary>
internal sealed class ClientConnection : IDisposable
{
    private readonly Stream _stream;
    private readonly byte[] _buffer = new byte[16 * 1024];
    private int _start;
    private int _end;

    private ClientConnection(Stream stream, IPEndPoint localEndPoint)
    {
        _stream = stream;
        LocalEndPoint = localEndPoint;
    }

    public IPEndPoint LocalEndPoint { get; }

    /// <summary>Whether the server accepts another request on it.</summary>
    public bool IsOpen { get; private set; } = true;

    /// <summary>Whether a request was sent on it.</summary>
    public bool IsUsed { get; private set; }

    public static async Task<ClientConnection> ConnectAsync(
        IPAddress from, IPEndPoint to, SslClientAuthenticationOptions? tls)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            socket.Bind(new IPEndPoint(from, 0));
            await socket.ConnectAsync(to);
            Stream stream = new NetworkStream(socket, ownsSocket: true);
            if (tls is not null)
            {
                var tlsStream = new SslStream(stream);
                await tlsStream.AuthenticateAsClientAsync(tls);
                stream = tlsStream;
            }

            return new ClientConnection(stream, (IPEndPoint)socket.LocalEndPoint!);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public async Task<ClientResponse> SendAsync(ClientRequest request)
    {
        IsUsed = true;
        try
        {
            return await ExchangeAsync(request);
        }
        catch (IOException)
        {
            IsOpen = false;
            return ClientResponse.None;
        }
    }

    public void Dispose() => _stream.Dispose();

    private async Task<ClientResponse> ExchangeAsync(ClientRequest request)
    {
        await _stream.WriteAsync(WriteHead(request));
        if (!request.ExpectsContinue)
            await WriteBodyAsync(request);

        List<int> informational = [];
        var head = await ReadHeadAsync();
        while (head.Status is >= 100 and < 200)
        {
            informational.Add(head.Status);
            if (head.Status == 100 && request.ExpectsContinue)
                await WriteBodyAsync(request);
            head = await ReadHeadAsync();
        }

        // The server still expects a body that was not sent because the final status came first.
        var lacksBody = request.ExpectsContinue && !informational.Contains(100);
        var (body, isCut) = await ReadBodyAsync(request, head);
        IsOpen = !lacksBody
            && !isCut
            && !head.ClosesConnection
            && (HasNoBody(request, head) || head.IsChunked || head.ContentLength is not null);
        return head with { Informational = informational, Body = body, IsCut = isCut };
    }

    private static byte[] WriteHead(ClientRequest request)
    {
        var head = new StringBuilder();
        head.Append(CultureInfo.InvariantCulture, $"{request.Method} {request.Target} {request.Version}\r\n");
        foreach (var (name, value) in request.Headers)
            head.Append(CultureInfo.InvariantCulture, $"{name}: {value}\r\n");
        if (request.IsChunked)
            head.Append("Transfer-Encoding: chunked\r\n");
        else if (request.Body is { } body)
            head.Append(CultureInfo.InvariantCulture, $"Content-Length: {body.Length}\r\n");
        if (request.ExpectsContinue)
            head.Append("Expect: 100-continue\r\n");
        head.Append("\r\n");
        return Encoding.UTF8.GetBytes(head.ToString());
    }

    private async Task WriteBodyAsync(ClientRequest request)
    {
        if (request.Body is not { } body)
            return;
        if (!request.IsChunked)
        {
            await _stream.WriteAsync(body);
            return;
        }

        const int ChunkSize = 1000;
        foreach (var chunk in body.Chunk(ChunkSize))
            await _stream.WriteAsync(
                (byte[])[.. Encoding.ASCII.GetBytes($"{chunk.Length:x}\r\n"), .. chunk, .. "\r\n"u8]);
        await _stream.WriteAsync("0\r\n\r\n"u8.ToArray());
    }

    private async Task<ClientResponse> ReadHeadAsync()
    {
        var statusLine = (await ReadLineAsync()).Split(' ', 3);
        List<(string Name, string Value)> headers = [];
        for (var line = await ReadLineAsync(); line.Length > 0; line = await ReadLineAsync())
        {
            var colon = line.IndexOf(':');
            headers.Add((line[..colon], line[(colon + 1)..].Trim()));
        }

        return new ClientResponse(
            int.Parse(statusLine[1], CultureInfo.InvariantCulture),
            statusLine.ElementAtOrDefault(2) ?? string.Empty,
            headers);
    }

    private static bool HasNoBody(ClientRequest request, ClientResponse head)
        => request.IsHead || head.Status is 204 or 304;

    private async Task<(byte[] Body, bool IsCut)> ReadBodyAsync(ClientRequest request, ClientResponse head)
    {
        if (HasNoBody(request, head))
            return ([], false);

        using var body = new MemoryStream();
        try
        {
            if (head.IsChunked)
                await ReadChunksAsync(body);
            else
                await ReadBytesAsync(body, head.ContentLength ?? long.MaxValue);
            return (body.ToArray(), false);
        }
        catch (IOException exception)
        {
            // Without a length or chunks, the end of the connection is the end of the body; a reset is not.
            return (
                body.ToArray(),
                exception is not EndOfStreamException || head.IsChunked || head.ContentLength is not null);
        }
    }

    private async Task ReadChunksAsync(MemoryStream body)
    {
        while (true)
        {
            var length = int.Parse(await ReadLineAsync(), NumberStyles.HexNumber, CultureInfo.InvariantCulture);
            await ReadBytesAsync(body, length);
            await ReadLineAsync();
            if (length == 0)
                return;
        }
    }

    private async Task ReadBytesAsync(MemoryStream body, long count)
    {
        while (count > 0)
        {
            if (_start == _end)
                await FillAsync();
            var length = (int)Math.Min(count, _end - _start);
            body.Write(_buffer, _start, length);
            _start += length;
            count -= length;
        }
    }

    private async Task<string> ReadLineAsync()
    {
        List<byte> line = [];
        while (true)
        {
            if (_start == _end)
                await FillAsync();
            var next = _buffer[_start++];
            if (next == '\n')
                return Encoding.UTF8.GetString([.. line]).TrimEnd('\r');
            line.Add(next);
        }
    }

    private async Task FillAsync()
    {
        _start = 0;
        _end = await _stream.ReadAsync(_buffer);
        if (_end == 0)
            throw new EndOfStreamException("The server closed the connection.");
    }
}
