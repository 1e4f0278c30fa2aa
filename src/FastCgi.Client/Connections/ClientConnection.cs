namespace FastCgi.Client.Connections;

/// <summary>
/// One connection. A loop receives as long as it is open, also while it is idle, so that a close by the application is seen at once. Requests take a
/// slot of it (<see cref="TryReserve"/>), begin, and give the slot back when their end has come and their input has been sent.
/// </summary>
internal sealed partial class ClientConnection : IDisposable
{
    private const string UnsentText = "The connection was closed before the request was sent.";

    private readonly Socket _socket;
    private readonly ConnectionPool _pool;
    private readonly FastCgiClientOptions _options;
    private readonly int _number;
    private readonly bool _persists;
    private readonly long _created;
    private readonly SemaphoreSlim _sendLock = new(1);
    private readonly Lock _lock = new();
    private readonly Dictionary<ushort, Exchange> _exchanges = [];
    private readonly Dictionary<ushort, Exchange> _abandoned = [];
    private readonly ITimer _idleTimer;
    private int _reserved = 1;
    private int _served;
    private ushort _lastId;

    // Set when the decision to close is made: no further request begins, so that none is lost with the connection.
    private volatile bool _isClosing;
    private bool _isClosed;
    private FastCgiProtocolException? _malformed;

    // Nothing more can be sent. What the application has answered can still be received.
    private volatile bool _isSendingLost;

    /// <summary>Creates a connection with one slot taken. If it persists, it takes further requests (FCGI_KEEP_CONN).</summary>
    public ClientConnection(Socket socket, ConnectionPool pool, FastCgiClientOptions options, int number, bool persists)
    {
        _persists = persists;
        _created = options.TimeProvider.GetTimestamp();
        _socket = socket;
        _pool = pool;
        _options = options;
        _number = number;
        _idleTimer = options.TimeProvider.CreateTimer(_ => OnIdleTimeout(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public bool IsClosing => _isClosing;

    public FastCgiAddress Address => _pool.Address;

    private TimeSpan TimeLeft => FastCgiClientOptions.ToFinite(_options.PooledConnectionLifetime) - _options.TimeProvider.GetElapsedTime(_created);

    private TimeSpan IdleTimeLeft => new(Math.Clamp(TimeLeft.Ticks, 0, FastCgiClientOptions.ToFinite(_options.IdleTimeout).Ticks));

    public void Start()
    {
        _options.Trace?.OnEvent(_number, isSent: true, "open");
        _ = ReceiveAsync();
    }

    /// <summary>Takes a slot for a request, if the connection carries fewer than <paramref name="capacity"/>.</summary>
    public bool TryReserve(int capacity)
    {
        lock (_lock)
        {
            if (_isClosing || !_persists || _reserved >= capacity || TimeLeft <= TimeSpan.Zero)
                return false;

            if (_reserved++ == 0)
                _idleTimer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            return true;
        }
    }

    /// <summary>Releases a slot, and starts the idle timeout with the last.</summary>
    public void ReleaseUnused()
    {
        lock (_lock)
        {
            if (--_reserved == 0 && !_isClosing)
                _idleTimer.Change(IdleTimeLeft, Timeout.InfiniteTimeSpan);
        }
    }

    public Exchange Begin(FastCgiRequestMessage request, bool isShared)
    {
        Exchange exchange;
        bool isClosing;
        lock (_lock)
        {
            isClosing = _isClosing;
            exchange = new Exchange(this, request, isShared ? GetFreeId() : (ushort)1, _served++ > 0, _options);
            if (!isClosing)
                _exchanges.Add(exchange.Id, exchange);
        }

        if (isClosing)
            exchange.OnConnectionEnded(_malformed ?? Closed(UnsentText));
        else
            exchange.Sending = SendAsync(exchange);
        return exchange;
    }

    public void Abandon(Exchange exchange)
    {
        bool isLast;
        lock (_lock)
        {
            // Its id may have become that of the next request.
            if (_exchanges.GetValueOrDefault(exchange.Id) != exchange)
                return;

            _exchanges.Remove(exchange.Id);
            _abandoned.Add(exchange.Id, exchange);
            // Alone on its connection, an abort that may not be heard costs more than a new connection.
            isLast = _reserved == _abandoned.Count;
            _isClosing |= isLast;
        }

        if (isLast)
            Dispose();
        else
            _ = SendAbortAsync(exchange);
    }

    /// <summary>Sends whole records, one caller at a time. An abort of a request that has not begun is not sent; <see langword="false"/> then.</summary>
    public async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> records, CancellationToken cancellationToken, Exchange? begun = null, Exchange? aborted = null)
    {
        await _sendLock.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            if (aborted is { IsBegun: false })
                return false;

            begun?.IsBegun = true;
            TraceSent(records.Span);
            // From here on it is sent whole: half a record would spoil the connection for the others.
            while (!records.IsEmpty)
            {
                var sending = _socket.SendAsync(records, SocketFlags.None, CancellationToken.None);
                // One that fails at once has sent nothing.
                if (!sending.IsFaulted)
                    begun?.IsUnsent = false;
                records = records[await sending.ConfigureAwait(false)..];
            }

            return true;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            _isSendingLost = true;
            lock (_lock)
                _isClosing = true;
            throw;
        }
        finally
        {
            _sendLock.Release();
        }
    }

    public void Dispose() => Close(Closed("The connection was closed."));

    private void Close(FastCgiProtocolException reason)
    {
        Exchange[] exchanges;
        lock (_lock)
        {
            if (_isClosed)
                return;

            _isClosed = _isClosing = true;
            _malformed = reason.Error == FastCgiProtocolError.MalformedRecord ? reason : null;
            exchanges = [.. _exchanges.Values];
            _exchanges.Clear();
        }

        _options.Trace?.OnEvent(_number, isSent: true, "end");
        _idleTimer.Dispose();
        _socket.Dispose();
        _values?.TrySetException(reason);
        foreach (var exchange in exchanges)
            exchange.OnConnectionEnded(reason);
        _pool.OnClosed(this);
    }

    private async Task SendAsync(Exchange exchange)
    {
        try
        {
            await exchange.Sender.SendAsync(_persists).ConfigureAwait(false);
        }
        catch (Exception) when (_isSendingLost || exchange.SendingToken.IsCancellationRequested)
        {
            // The application is gone, or wants no more: what it has answered, or why the connection ended, comes by the receiving loop. The exception
            // does not tell: a source of a body wraps it, or has one of the same type.
            if (_isSendingLost && exchange.IsUnsent)
                EndUnsent(exchange);
        }
        catch (Exception exception)
        {
            // The source of the body has failed.
            exchange.Abort(exception);
        }
        finally
        {
            Finish(exchange);
        }
    }

    /// <summary>The application does not know this one: its end does not wait for what else comes on the connection.</summary>
    private void EndUnsent(Exchange exchange)
    {
        lock (_lock)
        {
            if (_exchanges.GetValueOrDefault(exchange.Id) != exchange)
                return;

            _exchanges.Remove(exchange.Id);
        }

        exchange.OnConnectionEnded(_malformed ?? Closed(UnsentText));
        Finish(exchange);
    }

    private FastCgiProtocolException Closed(string why, Exception? inner = null)
        => new(FastCgiProtocolError.ConnectionClosed, why, inner) { Address = Address };

    /// <summary>Called when the input of a request has been sent and when its end has come; the second gives its slot back.</summary>
    private void Finish(Exchange exchange)
    {
        if (exchange.FinishOne() && !_pool.TryAsk(this))
            ReleaseSlot();
    }

    public void ReleaseSlot()
    {
        ReleaseUnused();
        bool isLast;
        lock (_lock)
        {
            // Those that are left are given up, it is not to be kept, or nothing can be sent on it.
            isLast = _reserved == _abandoned.Count && (_isClosing || _reserved > 0 || TimeLeft <= TimeSpan.Zero || !_pool.KeepsConnections);
            _isClosing |= isLast;
        }

        if (isLast)
            Dispose();
        _pool.OnSlotFree(this);
    }

    private async Task SendAbortAsync(Exchange exchange)
    {
        var record = new byte[ProtocolConstants.HeaderLength];
        RecordWriter.WriteHeader(record, RecordType.AbortRequest, exchange.Id, contentLength: 0);
        try
        {
            if (await SendAsync(record, CancellationToken.None, aborted: exchange).ConfigureAwait(false))
                return;

            lock (_lock)
                _abandoned.Remove(exchange.Id);
            Finish(exchange);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // Gone with its connection.
        }
    }

    private ushort GetFreeId()
    {
        do
            _lastId = _lastId == ushort.MaxValue ? (ushort)1 : (ushort)(_lastId + 1);
        while (_exchanges.ContainsKey(_lastId) || _abandoned.ContainsKey(_lastId));
        return _lastId;
    }

    private void OnIdleTimeout()
    {
        lock (_lock)
        {
            if (_reserved > 0)
                return;

            _isClosing = true;
        }

        Dispose();
    }

    private void TraceSent(ReadOnlySpan<byte> records)
    {
        if (_options.Trace is not { } trace)
            return;

        trace.OnBytes(_number, isSent: true, records);

        var reader = new RecordReader();
        while (reader.Read(ref records, out var piece) == RecordReadResult.Piece)
            trace.OnRecord(_number, isSent: true, piece.Header, piece.Content);
    }
}
