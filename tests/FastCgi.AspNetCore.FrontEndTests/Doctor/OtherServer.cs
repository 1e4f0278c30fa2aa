namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>
/// A server that answers everything as Kestrel answers malformed HTTP, or as php-fpm answers a request without a
/// script.
/// </summary>
internal sealed class OtherServer : IAsyncDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly byte[] _answer;
    private readonly Task _serving;

    public OtherServer(bool isPhp)
    {
        _answer = isPhp
            ? [
                .. RecordBytes.Record(RecordBytes.Stderr, 1, "Primary script unknown\n"u8),
                .. RecordBytes.Record(RecordBytes.Stdout, 1, "Status: 404 Not Found\r\nX-Powered-By: PHP/8.2\r\nContent-type: text/html; charset=UTF-8\r\n\r\nFile not found.\n"u8),
                .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8]),
            ]
            : "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"u8.ToArray();
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(10);
        _serving = ServeAsync();
    }

    public EndPoint EndPoint => _listener.LocalEndPoint!;

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        await _serving;
    }

    private async Task ServeAsync()
    {
        var buffer = new byte[4096];
        while (true)
        {
            try
            {
                using var socket = await _listener.AcceptAsync();
                if (await socket.ReceiveAsync(buffer) == 0)
                    continue;
                await socket.SendAsync(_answer);
                socket.Shutdown(SocketShutdown.Send);
                while (await socket.ReceiveAsync(buffer) > 0)
                {
                }
            }
            catch (SocketException exception) when (exception.SocketErrorCode != SocketError.OperationAborted)
            {
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return;
            }
        }
    }
}
