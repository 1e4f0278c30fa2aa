namespace FastCgi.Client.Connections;

/// <summary>The connections to one address.</summary>
internal sealed class ConnectionPool(FastCgiAddress address, FastCgiClientOptions options) : IDisposable
{
    // A slot per reserved connection. Idle connections have none: a request uses one of them before it opens another.
    private readonly SemaphoreSlim _slots = new(options.MaxConnections ?? int.MaxValue);
    private readonly CancellationTokenSource _disposal = new();
    private readonly Lock _lock = new();

    // The most recently used connection is last and is used first, so that surplus connections become idle.
    private readonly List<ClientConnection> _connections = [];
    private int _lastNumber;

    public FastCgiAddress Address => address;

    /// <summary>Reserves an idle connection, unless it must be new, or opens one. Waits for a slot.</summary>
    public async Task<ClientConnection> AcquireAsync(bool isNew, CancellationToken cancellationToken)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _disposal.Token);
        try
        {
            await _slots.WaitAsync(end.Token).ConfigureAwait(false);
            try
            {
                ClientConnection? idle;
                lock (_lock)
                    idle = isNew ? null : _connections.FindLast(static connection => connection.TryReserve());
                return idle ?? Add(await address
                    .ConnectAsync(options.ConnectTimeout, options.TimeProvider, end.Token).ConfigureAwait(false));
            }
            catch (Exception exception)
            {
                if (exception is SocketException)
                    options.Trace?.OnEvent(0, isSent: false, "refused");
                _slots.Release();
                throw;
            }
        }
        catch (OperationCanceledException exception)
        {
            cancellationToken.ThrowIfCancellationRequested();
            throw new ObjectDisposedException($"The {nameof(FastCgiClient)} was disposed.", exception);
        }
    }

    /// <summary>Called when a request releases a connection, or the connection closes.</summary>
    public void Return(ClientConnection connection, bool isOpen, bool isReserved)
    {
        lock (_lock)
        {
            if (_connections.Remove(connection) && isOpen)
                _connections.Add(connection);
        }

        if (isReserved)
            _slots.Release();
    }

    public void Dispose()
    {
        // On another thread, because continuations of canceled operations are the caller's code.
        _ = _disposal.CancelAsync();
        ClientConnection[] connections;
        lock (_lock)
            connections = [.. _connections];
        foreach (var connection in connections)
            connection.Dispose();
    }

    private ClientConnection Add(Socket socket)
    {
        ClientConnection connection;
        lock (_lock)
        {
            if (_disposal.IsCancellationRequested)
            {
                socket.Dispose();
                throw new ObjectDisposedException(nameof(FastCgiClient));
            }

            connection = new ClientConnection(socket, this, options, ++_lastNumber);
            _connections.Add(connection);
        }

        connection.Start();
        return connection;
    }
}
