namespace FastCgi.Client.Connections;

/// <summary>
/// A connection, which carries one request at a time. It receives as long as it is open, even while it is idle, to
/// detect at once that the application closes it. It is reserved for a request until the response has ended and the
/// request has been sent.
/// </summary>
internal sealed partial class ClientConnection(
    Socket socket, ConnectionPool pool, FastCgiClientOptions options, int number) : IDisposable
{
    private const string UnsentText = "The connection was closed before the request was sent.";
    private const string ClosedText = "The connection was closed.";

    private readonly long _created = options.TimeProvider.GetTimestamp();
    private readonly Lock _lock = new();
    private ITimer? _idleTimer;

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

    public FastCgiAddress Address => pool.Address;

    private bool Persists => options.KeepConnections && options.PooledConnectionLifetime != TimeSpan.Zero;

    private TimeSpan TimeLeft
        => FastCgiClientOptions.ToFinite(options.PooledConnectionLifetime)
            - options.TimeProvider.GetElapsedTime(_created);

    public void Start()
    {
        _idleTimer = options.TimeProvider.CreateTimer(_ => Close(Closed(ClosedText), () => !_isReserved), null,
            Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        options.Trace?.OnEvent(number, isSent: true, "open");
        _ = ReceiveAsync();
    }

    public bool TryReserve()
    {
        lock (_lock)
        {
            if (_isReserved || _isClosing || TimeLeft <= TimeSpan.Zero)
                return false;

            _isReserved = true;
            _idleTimer?.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            return true;
        }
    }

    public Exchange Begin(FastCgiRequestMessage request)
    {
        var exchange = new Exchange(this, request, _hasCarriedRequest, options);
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

    /// <summary>
    /// Closes the connection of an aborted request, because an application may ignore ABORT_REQUEST. The connection may
    /// already carry another request.
    /// </summary>
    public void Abandon(Exchange exchange) => Close(Closed(ClosedText), () => _exchange == exchange);

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
                var sending = socket.SendAsync(records, SocketFlags.None);
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

    public void Dispose() => Close(Closed(ClosedText));

    private void Close(FastCgiProtocolException reason, Func<bool>? condition = null)
    {
        Exchange? exchange;
        bool wasReserved;
        lock (_lock)
        {
            if (_isClosed || condition?.Invoke() == false)
                return;

            _isClosed = _isClosing = true;
            wasReserved = _isReserved;
            _malformed = reason.Error == FastCgiProtocolError.MalformedRecord ? reason : null;
            exchange = _exchange;
            _exchange = null;
        }

        options.Trace?.OnEvent(number, isSent: true, "end");
        _idleTimer?.Dispose();
        socket.Dispose();
        _values?.TrySetException(reason);
        exchange?.OnConnectionEnded(reason);
        pool.Return(this, isOpen: false, wasReserved);
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
        }
    }

    private FastCgiProtocolException Closed(string why, Exception? inner = null)
        => new(FastCgiProtocolError.ConnectionClosed, why, inner) { Address = Address };

    /// <summary>Called when the response has ended. Releases the connection once the request is sent, too.</summary>
    private async Task ReleaseAsync(Exchange exchange)
    {
        await exchange.Sent.Task.ConfigureAwait(false);
        bool isKept;
        lock (_lock)
        {
            var (left, idle) = (TimeLeft, FastCgiClientOptions.ToFinite(options.IdleTimeout));
            isKept = Persists && !_isClosing && left > TimeSpan.Zero;
            _isReserved = !isKept;
            if (isKept)
                _idleTimer!.Change(left < idle ? left : idle, Timeout.InfiniteTimeSpan);
        }

        if (isKept)
            pool.Return(this, isOpen: true, isReserved: true);
        else
            Dispose();
    }

    private void TraceSent(ReadOnlySpan<byte> records)
    {
        if (options.Trace is not { } trace)
            return;

        trace.OnBytes(number, isSent: true, records);
        var reader = new RecordReader();
        while (reader.Read(ref records, out var piece) == RecordReadResult.Piece)
            trace.OnRecord(number, isSent: true, piece.Header, piece.Content);
    }
}
