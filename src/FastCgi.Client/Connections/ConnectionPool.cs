namespace FastCgi.Client.Connections;

/// <summary>The connections to one address, and the requests that wait for one.</summary>
internal sealed class ConnectionPool(FastCgiAddress address, FastCgiClientOptions options) : IDisposable
{
    private static readonly TimeSpan s_connectPause = TimeSpan.FromMilliseconds(10);

    private readonly Lock _lock = new();

    // The most recently used connection is last and is taken first, so that surplus connections become idle.
    private readonly List<ClientConnection> _connections = [];
    private readonly Queue<TaskCompletionSource<ClientConnection?>> _waiting = new();
    private readonly CancellationTokenSource _disposal = new();
    private int _connecting;
    private int _lastNumber;
    private bool _isDisposed;

    public FastCgiAddress Address => address;

    /// <summary>Takes an idle connection or opens one. Waits if <see cref="FastCgiClientOptions.MaxConnections"/> is reached.</summary>
    public async Task<ClientConnection> AcquireAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource<ClientConnection?>? waiter = null;
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, typeof(FastCgiClient));
            if (_waiting.Count == 0 && TryTakeIdle() is { } idle)
                return idle;

            if (_connections.Count + _connecting >= options.MaxConnections)
            {
                waiter = new TaskCompletionSource<ClientConnection?>(TaskCreationOptions.RunContinuationsAsynchronously);
                _waiting.Enqueue(waiter);
            }
            else
            {
                _connecting++;
            }
        }

        if (waiter is null)
            return await OpenAsync(cancellationToken).ConfigureAwait(false);

        await using (cancellationToken.UnsafeRegister((_, token) => waiter.TrySetCanceled(token), null).ConfigureAwait(false))
        {
            var given = await waiter.Task.ConfigureAwait(false);
            // Null means that there is room for a new connection, which is already counted.
            return given ?? await OpenAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Opens a connection for FCGI_GET_VALUES, beyond <see cref="FastCgiClientOptions.MaxConnections"/> if necessary.</summary>
    public Task<ClientConnection> OpenForValuesAsync(CancellationToken cancellationToken)
    {
        lock (_lock)
            _connecting++;
        return OpenAsync(cancellationToken);
    }

    public void OnReleased(ClientConnection connection)
    {
        lock (_lock)
        {
            if (_connections.Remove(connection))
                _connections.Add(connection);
            GiveToWaiting();
        }
    }

    public void OnClosed(ClientConnection connection)
    {
        lock (_lock)
        {
            _connections.Remove(connection);
            GiveToWaiting();
        }
    }

    public void Dispose()
    {
        ClientConnection[] connections;
        TaskCompletionSource<ClientConnection?>[] waiting;
        lock (_lock)
        {
            _isDisposed = true;
            connections = [.. _connections];
            waiting = [.. _waiting];
            _waiting.Clear();
        }

        // Cancels connection attempts on another thread: their continuations are the caller's code.
        _ = _disposal.CancelAsync();
        foreach (var waiter in waiting)
            waiter.TrySetException(new ObjectDisposedException(nameof(FastCgiClient)));
        foreach (var connection in connections)
            connection.Dispose();
    }

    private ClientConnection? TryTakeIdle() => _connections.FindLast(static connection => connection.TryReserve());

    private void GiveToWaiting()
    {
        while (_waiting.TryPeek(out var waiter))
        {
            if (waiter.Task.IsCompleted)
            {
                // The caller has cancelled.
                _waiting.Dequeue();
                continue;
            }

            var idle = TryTakeIdle();
            if (idle is null && _connections.Count + _connecting >= options.MaxConnections)
                return;

            if (idle is null)
                _connecting++;
            _waiting.Dequeue();
            if (waiter.TrySetResult(idle))
                continue;

            // The caller cancelled at this moment.
            if (idle is null)
                _connecting--;
            else
                idle.TryRelease();
        }
    }

    private async Task<ClientConnection> OpenAsync(CancellationToken cancellationToken)
    {
        try
        {
            var socket = await ConnectAsync(cancellationToken).ConfigureAwait(false);
            var connection = Add(socket);
            connection.Start();
            return connection;
        }
        catch
        {
            lock (_lock)
            {
                _connecting--;
                GiveToWaiting();
            }

            throw;
        }
    }

    private ClientConnection Add(Socket socket)
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                socket.Dispose();
                throw new ObjectDisposedException(nameof(FastCgiClient));
            }

            var connection = new ClientConnection(socket, this, options, ++_lastNumber);
            _connecting--;
            _connections.Add(connection);
            return connection;
        }
    }

    private async Task<Socket> ConnectAsync(CancellationToken cancellationToken)
    {
        using var time = new CancellationTokenSource(options.ConnectTimeout, options.TimeProvider);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _disposal.Token, time.Token);
        try
        {
            while (true)
            {
                if (await TryConnectAsync(end.Token).ConfigureAwait(false) is { } socket)
                    return socket;

                await Task.Delay(s_connectPause, options.TimeProvider, end.Token).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException exception)
        {
            if (cancellationToken.IsCancellationRequested)
                throw new OperationCanceledException(exception.Message, exception, cancellationToken);
            ObjectDisposedException.ThrowIf(_isDisposed, typeof(FastCgiClient));
            throw new SocketException((int)SocketError.TimedOut, $"{address} did not accept a connection within {(int)options.ConnectTimeout.TotalSeconds} s.");
        }
        catch (SocketException exception)
        {
            options.Trace?.OnEvent(0, isSent: false, "refused");
            throw new SocketException((int)exception.SocketErrorCode, address.Explain(exception));
        }
    }

    /// <returns><see langword="null"/> if the queue of the listener is full. The system retries over TCP, but not for a Unix socket.</returns>
    private async Task<Socket?> TryConnectAsync(CancellationToken cancellationToken)
    {
        var socket = address.CreateSocket();
        try
        {
            await socket.ConnectAsync(address.EndPoint, cancellationToken).ConfigureAwait(false);
            return socket;
        }
        catch (Exception exception)
        {
            socket.Dispose();
            if (exception is SocketException { SocketErrorCode: SocketError.WouldBlock })
                return null;
            throw;
        }
    }
}
