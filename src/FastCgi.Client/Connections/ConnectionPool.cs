namespace FastCgi.Client.Connections;

/// <summary>A slot on a connection, and whether other requests may share the connection, as decided when the slot was taken.</summary>
internal readonly record struct ConnectionSlot(ClientConnection Connection, bool IsShared);

/// <summary>The connections to one address, and who waits for one.</summary>
internal sealed class ConnectionPool(FastCgiAddress address, FastCgiClientOptions options) : IDisposable
{
    // An application that knows FCGI_GET_VALUES answers at once. Some others never answer.
    private static readonly TimeSpan s_valuesTimeout = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_connectPause = TimeSpan.FromMilliseconds(10);

    private readonly Lock _lock = new();

    // The one that was used last is at the end, and is taken first, so that the others become idle.
    private readonly List<ClientConnection> _connections = [];
    private readonly Queue<TaskCompletionSource<ConnectionSlot?>> _waiting = new();
    private readonly CancellationTokenSource _disposal = new();
    private int _connecting;
    private int _lastNumber;
    private int _capacity = options.Multiplexing == FastCgiMultiplexing.Always ? options.MaxRequestsPerConnection : 1;
    private volatile bool _keepsConnections = options.KeepConnections ?? options.Multiplexing == FastCgiMultiplexing.Always;

    // The application is asked after the first answer, on the same connection: a question never delays a request.
    private bool _mustAsk = options.Multiplexing != FastCgiMultiplexing.Always
        && (options.KeepConnections is null || options.MaxRequestsPerConnection > 1);

    private ClientConnection? _asking;
    private bool _isDisposed;

    public FastCgiAddress Address => address;

    public bool KeepsConnections => _keepsConnections;

    /// <summary>Takes a slot of a connection; waits for one if there are as many as there may be.</summary>
    public async Task<ConnectionSlot> AcquireAsync(CancellationToken cancellationToken)
    {
        TaskCompletionSource<ConnectionSlot?>? waiter = null;
        lock (_lock)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, typeof(FastCgiClient));
            if (_waiting.Count == 0 && TryTakeSlot() is { } slot)
                return slot;

            if (_connections.Count + _connecting >= options.MaxConnections)
            {
                waiter = new TaskCompletionSource<ConnectionSlot?>(TaskCreationOptions.RunContinuationsAsynchronously);
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
            // None: there is room for a new one, which is counted already.
            return given ?? await OpenAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Makes a connection for something other than a request, beyond <see cref="FastCgiClientOptions.MaxConnections"/> if need be.</summary>
    public async Task<ClientConnection> OpenAloneAsync(CancellationToken cancellationToken)
    {
        lock (_lock)
            _connecting++;
        return (await OpenAsync(cancellationToken, isAlone: true).ConfigureAwait(false)).Connection;
    }

    /// <summary>Asks whether the application serves several requests at a time, if this connection is the one to ask on. It keeps the slot.</summary>
    public bool TryAsk(ClientConnection connection)
    {
        lock (_lock)
        {
            if (!_mustAsk || _asking != connection || connection.IsClosing)
                return false;

            _mustAsk = false;
        }

        _ = AskAsync(connection);
        return true;
    }

    public void StopSharing()
    {
        lock (_lock)
            _capacity = 1;
    }

    public void OnSlotFree(ClientConnection connection)
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
            if (_asking == connection)
                _asking = null;
            GiveToWaiting();
        }
    }

    public void Dispose()
    {
        ClientConnection[] connections;
        TaskCompletionSource<ConnectionSlot?>[] waiting;
        lock (_lock)
        {
            _isDisposed = true;
            connections = [.. _connections];
            waiting = [.. _waiting];
            _waiting.Clear();
        }

        // Whoever opens a connection, or asks on one that is not in the list yet, is told on another thread: it is code of the caller's.
        _ = _disposal.CancelAsync();
        foreach (var waiter in waiting)
            waiter.TrySetException(new ObjectDisposedException(nameof(FastCgiClient)));
        foreach (var connection in connections)
            connection.Dispose();
    }

    private ConnectionSlot? TryTakeSlot()
    {
        for (var i = _connections.Count - 1; i >= 0; i--)
        {
            if (_connections[i].TryReserve(_capacity))
                return new ConnectionSlot(_connections[i], IsShared: _capacity > 1);
        }

        return null;
    }

    private void GiveToWaiting()
    {
        while (_waiting.TryPeek(out var waiter))
        {
            if (waiter.Task.IsCompleted)
            {
                // Its caller has given up.
                _waiting.Dequeue();
                continue;
            }

            var slot = TryTakeSlot();
            if (slot is null && _connections.Count + _connecting >= options.MaxConnections)
                return;

            if (slot is null)
                _connecting++;
            _waiting.Dequeue();
            if (waiter.TrySetResult(slot))
                continue;

            // The waiter was cancelled at the same moment.
            if (slot is { } unused)
                unused.Connection.ReleaseUnused();
            else
                _connecting--;
        }
    }

    private async Task<ConnectionSlot> OpenAsync(CancellationToken cancellationToken, bool isAlone = false)
    {
        try
        {
            var socket = await ConnectAsync(cancellationToken).ConfigureAwait(false);
            var slot = Add(socket, isAlone);
            slot.Connection.Start();
            return slot;
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

    private ConnectionSlot Add(Socket socket, bool isAlone)
    {
        lock (_lock)
        {
            if (_isDisposed)
            {
                socket.Dispose();
                throw new ObjectDisposedException(nameof(FastCgiClient));
            }

            var isShared = _capacity > 1;
            var asks = _mustAsk && _asking is null;
            var persists = !isAlone && options.PooledConnectionLifetime != TimeSpan.Zero && (asks || isShared || _keepsConnections);
            var connection = new ClientConnection(socket, this, options, ++_lastNumber, persists);
            if (asks && persists)
                _asking = connection;
            _connecting--;
            _connections.Add(connection);
            GiveToWaiting();
            return new ConnectionSlot(connection, isShared);
        }
    }

    private async Task AskAsync(ClientConnection connection)
    {
        using var timeout = new CancellationTokenSource(s_valuesTimeout, options.TimeProvider);
        try
        {
            var values = await connection.GetValuesAsync(
                [Name(ProtocolConstants.MultiplexesConnectionsName), Name(ProtocolConstants.MaxRequestsName)], timeout.Token).ConfigureAwait(false);
            lock (_lock)
            {
                if (values.GetValueOrDefault(Name(ProtocolConstants.MultiplexesConnectionsName)) == "1")
                {
                    _keepsConnections = options.KeepConnections ?? true;
                    var text = values.GetValueOrDefault(Name(ProtocolConstants.MaxRequestsName));
                    var max = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var most) ? most : int.MaxValue;
                    _capacity = Math.Clamp(max, 1, options.MaxRequestsPerConnection);
                }
            }
        }
        catch (Exception exception) when (exception is OperationCanceledException or FastCgiProtocolException)
        {
            connection.Dispose();
        }

        connection.ReleaseSlot();
    }

    private static string Name(ReadOnlySpan<byte> name) => Encoding.ASCII.GetString(name);

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

    /// <returns><see langword="null"/> if the listener's queue is full: TCP retries then, a Unix socket does not.</returns>
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
