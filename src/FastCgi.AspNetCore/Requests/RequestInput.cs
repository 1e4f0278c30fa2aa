namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What follows the params: STDIN, which is the request body. The connection appends under its own lock. Members for the application take the lock of
/// the request, and inside it that of the connection.
/// </summary>
internal sealed class RequestInput
{
    private const long UnknownLength = -1;

    private readonly FastCgiRequest _request;
    private readonly long _declaredLength;
    private RequestBody? _body;
    private RequestBodyReader? _reader;
    private ReceivedStream? _stream;
    private Exception? _error;
    private long _maxBodySize;
    private bool _isStdinOver;

    /// <param name="declaredLength">CONTENT_LENGTH, or <see langword="null"/> if the end of STDIN decides.</param>
    /// <param name="maxBodySize">The maximum body size, unless the application changes it.</param>
    public RequestInput(FastCgiRequest request, long? declaredLength, long? maxBodySize)
    {
        _request = request;
        _declaredLength = declaredLength ?? UnknownLength;
        _maxBodySize = maxBodySize ?? UnknownLength;
        // Web servers send no STDIN to an authorizer, and most do not even end it.
        _isStdinOver = request.Role == FastCgiRole.Authorizer;
    }

    public bool IsOver => _isStdinOver;
    public long UnreadLength => Body?.UnreadLength ?? 0;
    public long ReceivedLength => Body?.ReceivedLength ?? 0;
    public bool IsReading => Body is { IsReading: true };

    /// <summary>Whether there is a body; <see langword="null"/> while that is unknown.</summary>
    public bool? HasBody => _declaredLength != UnknownLength ? _declaredLength > 0
        : _isStdinOver ? Body is { ReceivedLength: > 0 }
        : Body is null ? null : true;

    public bool HasStartedReading { get; private set; }

    public long? MaxBodySize
    {
        get => _maxBodySize == UnknownLength ? null : _maxBodySize;
        set
        {
            if (HasStartedReading)
            {
                throw new InvalidOperationException(
                    "The maximum request body size cannot be modified after the app has already started reading from the request body.");
            }

            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            _maxBodySize = value ?? UnknownLength;
        }
    }

    public RequestBodyReader Reader => _reader ?? Interlocked.CompareExchange(ref _reader, new RequestBodyReader(this), null) ?? _reader;
    public ReceivedStream Stream => _stream ?? Interlocked.CompareExchange(ref _stream, new ReceivedStream(this), null) ?? _stream;

    // The application's side reads it without the lock of the connection.
    private RequestBody? Body => Volatile.Read(ref _body);
    private RequestConnection Connection => _request.Connection;
    private static ReadResult EmptyBody => new(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);

    public void AppendStdin(ConnectionScope connection, ReadOnlySpan<byte> content)
    {
        if (!_isStdinOver && _declaredLength != 0)
            GetOrCreateBody(connection).Append(connection, content);
    }

    /// <summary>No more of the body arrives. Reads of an incomplete body fail instead of waiting.</summary>
    public void EndStdin(ConnectionScope connection)
    {
        if (_isStdinOver)
            return;

        _isStdinOver = true;
        _body?.EndInput(connection);
    }

    /// <summary>Makes reads fail, because the rest does not arrive.</summary>
    public void Fail(ConnectionScope connection, Exception exception)
    {
        _error = exception;
        _body?.CompleteInput(connection, exception);
    }

    /// <summary>The application has returned, or will not be called: reads fail from now on, and memory is returned.</summary>
    public void Close(ConnectionScope connection)
    {
        Fail(connection, new ObjectDisposedException(nameof(HttpRequest)));
        _body?.CompleteReader();
    }

    public bool IsUsed => Body is not null;

    public void ThrowIfSynchronousIONotAllowed() => _request.Response.ThrowIfSynchronousIONotAllowed("ReadAsync");

    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = _request.EnterLock())
            read = StartReading(scope) is { } body ? Time(body, body.ReadAsync(cancellationToken)) : new(EmptyBody);

        return Examined(read);
    }

    public ValueTask<ReadResult> ReadAtLeastAsync(int minimumSize, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = _request.EnterLock())
            read = StartReading(scope) is { } body ? Time(body, body.ReadAtLeastAsync(minimumSize, cancellationToken)) : new(EmptyBody);

        return Examined(read);
    }

    public bool TryRead(out ReadResult result)
    {
        using (var scope = _request.EnterLock())
        {
            if (StartReading(scope) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    public void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        using (_request.EnterLock())
        {
            ThrowIfOver();
            if (Body is not { } body)
                return;
            if (body.IsReaderOver)
                throw new InvalidOperationException("No reading operation to complete.");
            body.AdvanceTo(consumed, examined);
        }

        Connection.ResumeReceiving();
    }

    public void CancelPendingRead()
    {
        using var scope = _request.EnterLock();
        ThrowIfOver();
        GetBody()?.CancelPendingRead();
    }

    public void CompleteReader(Exception? exception)
    {
        Action? log = null;
        using (var scope = _request.EnterLock())
        {
            ThrowIfOver();
            if (Body is { IsReaderOver: true })
                return;

            using (var connection = Connection.EnterLock())
                GetOrCreateBody(connection).CompleteReader();
            if (exception is not null)
                log = _request.RecordApplicationError(scope, exception);
        }

        log?.Invoke();
        Connection.ResumeReceiving();
    }

    private ValueTask<ReadResult> Examined(ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted)
            Connection.ResumeReceiving();
        return read;
    }

    private RequestBody? StartReading(RequestScope scope)
    {
        ThrowIfOver();
        if (Body is { IsReaderOver: true })
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");

        var body = GetBody();
        if (body is null)
            return null;

        body.BeginRead(MaxBodySize);
        HasStartedReading = true;
        return body;
    }

    private RequestBody? GetBody()
    {
        if (Body is { } body)
            return body;

        using (var connection = Connection.EnterLock())
            return _declaredLength == 0 || (_declaredLength == UnknownLength && _isStdinOver) ? _body : GetOrCreateBody(connection);
    }

    private RequestBody GetOrCreateBody(ConnectionScope connection)
    {
        if (_body is { } there)
            return there;

        var body = new RequestBody(new BodyMemory(Connection.Output.Pool), _declaredLength == UnknownLength ? null : _declaredLength);
        if (_error is not null || _declaredLength == 0)
            body.CompleteInput(connection, _error);
        else if (_isStdinOver)
            body.EndInput(connection);
        Volatile.Write(ref _body, body);
        return body;
    }

    private void ThrowIfOver()
    {
        if (_request.IsOver)
            throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the request has ended.");
    }

    public bool IsTimed => Body is { IsTimed: true };

    /// <summary>Refuses a body that has blocked other requests for too long.</summary>
    /// <returns>The report, for a call without the lock.</returns>
    public Action Refuse(ConnectionScope connection)
    {
        const RequestRejection Reason = RequestRejection.RequestBodyBacklog;
        var (log, connectionId, traceIdentifier, length) = (_request.Log, _request.Connection.Id, _request.TraceIdentifier, UnreadLength);
        Fail(connection, new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        _request.CountRefusedBody(Reason);
        return () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
    }

    /// <summary>Fails the body if it arrives too slowly. Called every second.</summary>
    /// <param name="isPaused">Whether receiving is paused, which is not the client's fault.</param>
    /// <returns>The report, for a call without the lock; <see langword="null"/> if the body is fast enough.</returns>
    public Action? FailIfSlow(ConnectionScope connection, long now, bool isPaused)
    {
        const RequestRejection Reason = RequestRejection.RequestBodyTimeout;
        if (Body?.FindRateMissed(_request.Clock, now, isPaused) is not { } rate)
            return null;

        var (log, connectionId, traceIdentifier) = (_request.Log, _request.Connection.Id, _request.TraceIdentifier);
        Fail(connection, new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        _request.CountRefusedBody(Reason);
        return () => log.RequestBodyTooSlow(connectionId, traceIdentifier, rate.BytesPerSecond);
    }

    /// <summary>Applies the minimum data rate, if any, while a read is pending.</summary>
    private ValueTask<ReadResult> Time(RequestBody body, ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted && _request.MinBodyDataRate is { } rate)
            body.Time(rate, _request.Clock.GetTimestamp());
        return read;
    }
}

/// <summary>The application's <c>Request.BodyReader</c>.</summary>
internal sealed class RequestBodyReader(RequestInput input) : PipeReader
{
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) => input.ReadAsync(cancellationToken);

    public override bool TryRead(out ReadResult result) => input.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => input.AdvanceTo(consumed, examined);

    public override void CancelPendingRead() => input.CancelPendingRead();

    public override void Complete(Exception? exception = null) => input.CompleteReader(exception);

    public override Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : input.Stream.CopyToAsync(destination, cancellationToken);
    }

    public override Task CopyToAsync(Stream destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : input.Stream.CopyToAsync(destination, cancellationToken);
    }

    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken)
        => input.ReadAtLeastAsync(minimumSize, cancellationToken);
}
