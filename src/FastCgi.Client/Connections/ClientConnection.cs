namespace FastCgi.Client.Connections;

/// <summary>
/// A connection, which carries one request at a time. It receives as long as it is open, even while it is idle, to
/// detect at once that the application closes it. It is reserved for a request until the response has ended and the
/// request has been sent.
/// </summary>
internal sealed partial class ClientConnection : IDisposable
{
    private const string UnsentText = "The connection was closed before the request was sent.";

    private readonly Socket _socket;
    private readonly ConnectionPool _pool;
    private readonly FastCgiClientOptions _options;
    private readonly int _number;
    private readonly long _created;
    private readonly Lock _lock = new();
    private readonly ITimer _idleTimer;

    // The request whose response has not ended.
    private Exchange? _exchange;
    private bool _isReserved = true;
    private bool _hasCarriedRequest;

    // Set by the decision to close, so that no further request starts.
    private volatile bool _isClosing;
    private bool _isClosed;
    private FastCgiProtocolException? _malformed;

    // Nothing more can be sent, but data from the application can still be received.
    private volatile bool _isSendingLost;

    public ClientConnection(Socket socket, ConnectionPool pool, FastCgiClientOptions options, int number)
    {
        _socket = socket;
        _pool = pool;
        _options = options;
        _number = number;
        _created = options.TimeProvider.GetTimestamp();
        _idleTimer = options.TimeProvider.CreateTimer(
            _ => OnIdleTimeout(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public FastCgiAddress Address => _pool.Address;

    private bool Persists => _options.KeepConnections && _options.PooledConnectionLifetime != TimeSpan.Zero;

    private TimeSpan TimeLeft
        => FastCgiClientOptions.ToFinite(_options.PooledConnectionLifetime)
            - _options.TimeProvider.GetElapsedTime(_created);

    public void Start()
    {
        _options.Trace?.OnEvent(_number, isSent: true, "open");
        _ = ReceiveAsync();
    }

    public bool TryReserve()
    {
        lock (_lock)
        {
            if (_isReserved || _isClosing || TimeLeft <= TimeSpan.Zero)
                return false;

            _isReserved = true;
            _idleTimer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            return true;
        }
    }

    public Exchange Begin(FastCgiRequestMessage request)
    {
        var exchange = new Exchange(this, request, _hasCarriedRequest, _options);
        _hasCarriedRequest = true;
        lock (_lock)
            _exchange = _isClosing ? null : exchange;
        if (_exchange is null)
        {
            exchange.OnConnectionEnded(_malformed ?? Closed(UnsentText));
            exchange.Sent.TrySetResult();
        }
        else
        {
            _ = SendAsync(exchange);
        }

        return exchange;
    }

    /// <summary>Closes the connection of an aborted request: an application may ignore ABORT_REQUEST.</summary>
    public void Abandon(Exchange exchange)
    {
        lock (_lock)
        {
            // The connection may already carry another request.
            if (_exchange != exchange)
                return;

            _exchange = null;
            _isClosing = true;
        }

        Dispose();
    }

    /// <summary>Sends whole records, unless the connection is lost, which the receiving loop reports.</summary>
    public async ValueTask SendAsync(ReadOnlyMemory<byte> records, Exchange? exchange)
    {
        if (_isSendingLost)
            return;

        TraceSent(records.Span);
        try
        {
            while (!records.IsEmpty)
            {
                var sending = _socket.SendAsync(records, SocketFlags.None);
                // A send that fails at once has sent nothing.
                if (!sending.IsFaulted)
                    exchange?.IsUnsent = false;
                records = records[await sending.ConfigureAwait(false)..];
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            _isSendingLost = true;
            lock (_lock)
                _isClosing = true;
            // The rest of the body is read only to verify its length.
            if (exchange is { Sender.IsLengthUnverified: false })
                exchange.StopSending();
        }
    }

    public void Dispose() => Close(Closed("The connection was closed."));

    private void Close(FastCgiProtocolException reason)
    {
        Exchange? exchange;
        bool wasReserved;
        lock (_lock)
        {
            if (_isClosed)
                return;

            _isClosed = _isClosing = true;
            wasReserved = _isReserved;
            _malformed = reason.Error == FastCgiProtocolError.MalformedRecord ? reason : null;
            exchange = _exchange;
            _exchange = null;
        }

        _options.Trace?.OnEvent(_number, isSent: true, "end");
        _idleTimer.Dispose();
        _socket.Dispose();
        _values?.TrySetException(reason);
        exchange?.OnConnectionEnded(reason);
        _pool.OnClosed(this, wasReserved);
    }

    private async Task SendAsync(Exchange exchange)
    {
        try
        {
            await exchange.Sender.SendAsync(Persists).ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            // Unless the rest of the body is no longer needed, its source has failed.
            if (!exchange.SendingToken.IsCancellationRequested)
                exchange.Abort(exception);
        }
        finally
        {
            exchange.Sent.TrySetResult();
            Finish(exchange);
        }
    }

    private FastCgiProtocolException Closed(string why, Exception? inner = null)
        => new(FastCgiProtocolError.ConnectionClosed, why, inner) { Address = Address };

    /// <summary>Called when the request is sent or its response ended. Releases the connection after both.</summary>
    private void Finish(Exchange exchange)
    {
        if (!exchange.FinishOne())
            return;

        bool isKept;
        lock (_lock)
        {
            var (left, idle) = (TimeLeft, FastCgiClientOptions.ToFinite(_options.IdleTimeout));
            isKept = Persists && !_isClosing && left > TimeSpan.Zero;
            _isReserved = !isKept;
            if (isKept)
                _idleTimer.Change(left < idle ? left : idle, Timeout.InfiniteTimeSpan);
        }

        if (isKept)
            _pool.OnReleased(this);
        else
            Dispose();
    }

    private void OnIdleTimeout()
    {
        lock (_lock)
        {
            if (_isReserved)
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
