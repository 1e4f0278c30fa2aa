using Microsoft.AspNetCore.Connections;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary>
/// Limits the number of connections; further ones wait in the queue of the socket. Kestrel's own limit accepts a
/// connection before it closes it, so that a burst uses up the descriptors.
/// </summary>
internal sealed class LimitedListenerFactory(
    IConnectionListenerFactory sockets, SemaphoreSlim slots) : IConnectionListenerFactory
{
    /// <summary>Releases the slot of a connection that has been served.</summary>
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
