namespace FastCgi.Tool.Commands.Proxy;

/// <summary>Limits the number of connections. Kestrel's limit accepts and closes further ones.</summary>
internal sealed class LimitedListenerFactory(
    IConnectionListenerFactory sockets, SemaphoreSlim slots) : IConnectionListenerFactory
{
    public static ConnectionDelegate Release(ConnectionDelegate next, SemaphoreSlim slots) => async connection =>
    {
        try
        {
            await next(connection);
        }
        finally
        {
            slots.Release();
        }
    };

    public async ValueTask<IConnectionListener> BindAsync(
        EndPoint endpoint, CancellationToken cancellationToken = default)
        => new Listener(await sockets.BindAsync(endpoint, cancellationToken), slots);

    private sealed class Listener(IConnectionListener socket, SemaphoreSlim slots) : IConnectionListener
    {
        public EndPoint EndPoint => socket.EndPoint;

        public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default)
        {
            var connection = await socket.AcceptAsync(cancellationToken);
            // After the accept, so that an idle listener holds no slot.
            if (connection is not null)
                await slots.WaitAsync(cancellationToken);
            return connection;
        }

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
        {
            // Kestrel waits for AcceptAsync, which may be waiting for a slot.
            slots.Release();
            return socket.UnbindAsync(cancellationToken);
        }

        public ValueTask DisposeAsync() => socket.DisposeAsync();
    }
}
