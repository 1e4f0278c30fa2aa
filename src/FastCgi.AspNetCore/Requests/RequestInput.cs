namespace FastCgi.AspNetCore.Requests;

/// <summary>The request body as the application reads it, under the lock of the request.</summary>
/// <param name="maxBodySize">The maximum body size, unless the application changes it.</param>
internal sealed class RequestInput(FastCgiRequest request, long? maxBodySize)
{
    private const long Unlimited = -1;

    private RequestBodyReader? _reader;
    private ReceivedStream? _stream;
    private long _maxBodySize = maxBodySize ?? Unlimited;

    public bool HasStartedReading => request.HasStartedReading;

    public long? MaxBodySize
    {
        get => _maxBodySize == Unlimited ? null : _maxBodySize;
        set
        {
            if (HasStartedReading)
            {
                throw new InvalidOperationException(
                    "The maximum request body size cannot be modified after the app has already started reading from "
                        + "the request body.");
            }

            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            _maxBodySize = value ?? Unlimited;
        }
    }

    public RequestBodyReader Reader
        => _reader ?? Interlocked.CompareExchange(ref _reader, new RequestBodyReader(this), null) ?? _reader;
    public ReceivedStream Stream
        => _stream ?? Interlocked.CompareExchange(ref _stream, new ReceivedStream(this), null) ?? _stream;

    private static ReadResult EmptyBody => new(ReadOnlySequence<byte>.Empty, isCanceled: false, isCompleted: true);

    public void ThrowIfSynchronousIONotAllowed() => request.Response.ThrowIfSynchronousIONotAllowed("ReadAsync");

    public ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = request.EnterLock())
            read = StartReading(scope) is { } body ? Time(body, body.ReadAsync(cancellationToken)) : new(EmptyBody);

        return Examined(read);
    }

    public ValueTask<ReadResult> ReadAtLeastAsync(int minimumSize, CancellationToken cancellationToken)
    {
        ValueTask<ReadResult> read;
        using (var scope = request.EnterLock())
            read = StartReading(scope) is { } body
                ? Time(body, body.ReadAtLeastAsync(minimumSize, cancellationToken))
                : new(EmptyBody);

        return Examined(read);
    }

    public bool TryRead(out ReadResult result)
    {
        using (var scope = request.EnterLock())
        {
            if (StartReading(scope) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    public void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        using (request.EnterLock())
        {
            ThrowIfOver();
            if (request.Body is not { } body)
                return;
            if (body.IsReaderOver)
                throw new InvalidOperationException("No reading operation to complete.");
            body.AdvanceTo(consumed, examined);
        }

        request.Connection.ResumeReceiving();
    }

    public void CancelPendingRead()
    {
        using var scope = request.EnterLock();
        ThrowIfOver();
        request.GetBody()?.CancelPendingRead();
    }

    public void CompleteReader(Exception? exception)
    {
        Action? log = null;
        using (var scope = request.EnterLock())
        {
            ThrowIfOver();
            if (request.Body is { IsReaderOver: true })
                return;

            request.CompleteBodyReader();
            if (exception is not null)
                log = request.RecordApplicationError(scope, exception);
        }

        log?.Invoke();
        request.Connection.ResumeReceiving();
    }

    private ValueTask<ReadResult> Examined(ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted)
            request.Connection.ResumeReceiving();
        return read;
    }

    private RequestBody? StartReading(RequestScope scope)
    {
        ThrowIfOver();
        if (request.Body is { IsReaderOver: true })
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");

        var body = request.GetBody();
        if (body is null)
            return null;

        body.BeginRead(MaxBodySize);
        request.HasStartedReading = true;
        return body;
    }

    private void ThrowIfOver()
    {
        if (request.IsOver)
            throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the "
                + "request has ended.");
    }

    /// <summary>Applies the minimum data rate, if any, while a read is pending.</summary>
    private ValueTask<ReadResult> Time(RequestBody body, ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted && request.MinBodyDataRate is { } rate)
            body.Time(new BodyRate(rate.BytesPerSecond, rate.GracePeriod), request.Clock.GetTimestamp());
        return read;
    }
}

/// <summary>The application's <c>Request.BodyReader</c>.</summary>
internal sealed class RequestBodyReader(RequestInput input) : PipeReader
{
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        => input.ReadAsync(cancellationToken);

    public override bool TryRead(out ReadResult result) => input.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
        => input.AdvanceTo(consumed, examined);

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
