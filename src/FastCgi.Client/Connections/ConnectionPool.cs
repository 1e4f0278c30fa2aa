using System.Globalization;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.Client.Connections;

/// <summary>Room for a request on a connection.</summary>
/// <param name="Connection">The connection.</param>
/// <param name="IsShared">Whether others may be on it at the same time, decided when the room was taken.</param>
internal readonly record struct ConnectionSlot(ClientConnection Connection, bool IsShared);

/// <summary>The connections to one address, and who waits for one.</summary>
internal sealed class ConnectionPool(FastCgiAddress address, FastCgiClientOptions options) : IDisposable
{
    // An application that knows the question answers at once. Some that do not leave it unanswered.
    private static readonly TimeSpan s_valuesTimeout = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();

    // The one that was used last is at the end, and is taken first, so that the others become idle.
    private readonly List<ClientConnection> _connections = [];
    private readonly Queue<TaskCompletionSource<ConnectionSlot?>> _waiting = new();
    private readonly SemaphoreSlim _askLock = new(1);

    // Those that are not of the pool: only Dispose comes to them.
    private readonly HashSet<ClientConnection> _alone = [];
    private readonly CancellationTokenSource _disposal = new();
    private int _connecting;
    private int _lastNumber;
    private int? _capacity = options.MaxRequestsPerConnection == 1 || options.Multiplexing == FastCgiMultiplexing.Never ? 1
        : options.Multiplexing == FastCgiMultiplexing.Always ? options.MaxRequestsPerConnection : null;

    private bool _isDisposed;

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

        await using (cancellationToken.UnsafeRegister(static (state, token) => ((TaskCompletionSource<ConnectionSlot?>)state!).TrySetCanceled(token), waiter).ConfigureAwait(false))
        {
            var given = await waiter.Task.ConfigureAwait(false);
            // None: there is room for a new one, which is counted already.
            return given ?? await OpenAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Makes a connection that is not of the pool and not kept; a slot of it is taken.</summary>
    public async Task<ClientConnection> OpenAloneAsync(CancellationToken cancellationToken)
    {
        var connection = await WhileInUseAsync(StartAsync, cancellationToken).ConfigureAwait(false);
        lock (_lock)
        {
            if (!_isDisposed)
            {
                if (!connection.IsClosing)
                    _alone.Add(connection);
                return connection;
            }
        }

        connection.Dispose();
        throw new ObjectDisposedException(nameof(FastCgiClient));
    }

    /// <summary>The application has refused a second request on a connection.</summary>
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
            _alone.Remove(connection);
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
            connections = [.. _connections, .. _alone];
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
        var capacity = _capacity ?? 1;
        for (var i = _connections.Count - 1; i >= 0; i--)
        {
            if (_connections[i].TryReserve(capacity))
                return new ConnectionSlot(_connections[i], IsShared: capacity > 1);
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
            if (!waiter.TrySetResult(slot))
                GiveBack(slot);
        }
    }

    /// <summary>A waiter gave up in the moment in which it was served.</summary>
    private void GiveBack(ConnectionSlot? slot)
    {
        if (slot is null)
            _connecting--;
        else
            slot.Value.Connection.ReleaseUnused();
    }

    private async Task<ConnectionSlot> OpenAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await WhileInUseAsync(OpenAndAskAsync, cancellationToken).ConfigureAwait(false);
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

    /// <summary>Does what a cancellation ends, by the caller or because the client is disposed of, and says which it was.</summary>
    private async Task<T> WhileInUseAsync<T>(Func<CancellationToken, Task<T>> open, CancellationToken cancellationToken)
    {
        using var use = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _disposal.Token);
        try
        {
            return await open(use.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException exception) when (cancellationToken.IsCancellationRequested)
        {
            throw new OperationCanceledException(exception.Message, exception, cancellationToken);
        }
        catch (OperationCanceledException) when (_disposal.IsCancellationRequested)
        {
            throw new ObjectDisposedException(nameof(FastCgiClient));
        }
    }

    private async Task<ClientConnection> StartAsync(CancellationToken cancellationToken)
    {
        var connection = Create(await ConnectAsync(cancellationToken).ConfigureAwait(false));
        connection.TryReserve(1);
        connection.Start();
        return connection;
    }

    private async Task<ConnectionSlot> OpenAndAskAsync(CancellationToken cancellationToken)
    {
        var connection = await StartAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            return await AskAsync(connection, cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    /// <summary>Asks once whether requests may share connections, and adds the connection, or another if it did not survive the question.</summary>
    private async Task<ConnectionSlot> AskAsync(ClientConnection connection, CancellationToken cancellationToken)
    {
        await _askLock.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            if (_capacity is null)
            {
                var capacity = await GetCapacityAsync(connection, cancellationToken).ConfigureAwait(false);
                if (capacity is null)
                {
                    connection.Dispose();
                    connection = await StartAsync(cancellationToken).ConfigureAwait(false);
                }

                lock (_lock)
                    _capacity = capacity ?? 1;
            }
        }
        finally
        {
            _askLock.Release();
        }

        lock (_lock)
        {
            if (!_isDisposed)
            {
                _connecting--;
                // One that was closed meanwhile is told of to nobody again, and would keep its room for ever.
                if (!connection.IsClosing)
                    _connections.Add(connection);
                GiveToWaiting();
                return new ConnectionSlot(connection, IsShared: _capacity > 1);
            }
        }

        connection.Dispose();
        throw new ObjectDisposedException(nameof(FastCgiClient));
    }

    /// <returns>How many requests a connection may carry; <see langword="null"/> if the application did not answer, so that the connection is of no use.</returns>
    private async Task<int?> GetCapacityAsync(ClientConnection connection, CancellationToken cancellationToken)
    {
        using var time = new CancellationTokenSource(s_valuesTimeout, options.TimeProvider);
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, time.Token);
        try
        {
            var values = await connection.GetValuesAsync(
                [Name(ProtocolConstants.MultiplexesConnectionsName), Name(ProtocolConstants.MaxRequestsName)], timeout.Token).ConfigureAwait(false);
            if (values.GetValueOrDefault(Name(ProtocolConstants.MultiplexesConnectionsName)) != "1")
                return 1;

            var text = values.GetValueOrDefault(Name(ProtocolConstants.MaxRequestsName));
            return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var most) && most > 0
                ? Math.Min(most, options.MaxRequestsPerConnection)
                : options.MaxRequestsPerConnection;
        }
        catch (Exception exception) when (!cancellationToken.IsCancellationRequested && exception is OperationCanceledException or FastCgiProtocolException or SocketException or ObjectDisposedException)
        {
            return null;
        }
    }

    private static string Name(ReadOnlySpan<byte> name) => Encoding.ASCII.GetString(name);

    private ClientConnection Create(Socket socket) => new(socket, this, options, Interlocked.Increment(ref _lastNumber));

    private async Task<Socket> ConnectAsync(CancellationToken cancellationToken)
    {
        var socket = address.IsUnix
            ? new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        using var time = new CancellationTokenSource(options.ConnectTimeout, options.TimeProvider);
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, time.Token);
        try
        {
            await socket.ConnectAsync(address.EndPoint, timeout.Token).ConfigureAwait(false);
            return socket;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            socket.Dispose();
            throw new SocketException((int)SocketError.TimedOut, string.Create(CultureInfo.InvariantCulture, $"{address} did not accept a connection within {options.ConnectTimeout.TotalSeconds} s."));
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
