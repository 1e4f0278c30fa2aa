namespace FastCgi.Tool.Tests.Harness;

/// <summary>A server that handles one connection after the other, until it stops accepting.</summary>
internal sealed class FakeServer : IAsyncDisposable
{
    private readonly Socket _listener;
    private readonly Task _serving;

    public FakeServer(Func<NetworkStream, Task> serve)
        : this(
            async stream =>
            {
                await serve(stream);
                return false;
            },
            path: null)
    {
    }

    public FakeServer(Func<NetworkStream, Task<bool>> serve, string? path)
    {
        _listener = path is null ? TestSockets.ListenTcp() : TestSockets.ListenUnix(path, backlog: 10);
        _serving = ServeAsync(serve);
    }

    /// <summary>A server that gives the same answer to whatever it gets first.</summary>
    public static FakeServer Answering(byte[] answer) => new(async stream =>
    {
        if (await stream.ReadAsync(new byte[100_000]) > 0)
            await stream.WriteAsync(answer);
    });

    public string Address => $"fastcgi://{_listener.LocalEndPoint}";

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        await _serving;
    }

    private async Task ServeAsync(Func<NetworkStream, Task<bool>> serve)
    {
        while (true)
        {
            try
            {
                using var socket = await _listener.AcceptAsync();
                await using var stream = new NetworkStream(socket);
                if (await serve(stream))
                    return;
                // What was not read would be a reset.
                socket.Shutdown(SocketShutdown.Send);
                await stream.CopyToAsync(Stream.Null);
            }
            catch (Exception exception) when (exception is IOException
                or SocketException { SocketErrorCode: not SocketError.OperationAborted }
                or System.Security.Authentication.AuthenticationException)
            {
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return;
            }
        }
    }
}
