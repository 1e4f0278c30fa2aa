using System.Runtime.ExceptionServices;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's <c>Request.BodyReader</c>, which reads under the lock of the connection.</summary>
internal sealed class RequestInput(FastCgiRequest request, long? maxBodySize)
    : PipeReader, IHttpMaxRequestBodySizeFeature
{
    private ReceivedStream? _stream;

    public bool IsReadOnly => request.HasStartedReading;

    public long? MaxRequestBodySize
    {
        get;
        set
        {
            if (IsReadOnly)
                throw new InvalidOperationException(
                    "The maximum request body size cannot be modified after the app has already started reading from "
                        + "the request body.");

            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            field = value;
        }
    } = maxBodySize;

    public ReceivedStream Stream
        => _stream ?? Interlocked.CompareExchange(ref _stream, new ReceivedStream(this), null) ?? _stream;

    private static ReadResult EmptyBody => new(buffer: default, isCanceled: false, isCompleted: true);

    public void ThrowIfSynchronousIONotAllowed() => request.Response.ThrowIfSynchronousIONotAllowed("ReadAsync");

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        // Check this first: after the end of the request, the token is ignored, as in Kestrel.
        ThrowIfOver();
        cancellationToken.ThrowIfCancellationRequested();
        ValueTask<ReadResult> read;
        using (var scope = request.EnterLock())
        {
            if (StartReading(scope) is not { } body)
                return new ValueTask<ReadResult>(EmptyBody);

            read = body.ReadAsync(cancellationToken);
            if (read.IsCompleted)
                return read;

            if (request.MinDataRate is { } rate)
                body.Time(new BodyRate(rate.BytesPerSecond, rate.GracePeriod), request.Server.Time.GetTimestamp());
        }

        request.Connection.ResumeReceiving();
        return read;
    }

    public override bool TryRead(out ReadResult result)
    {
        using (var scope = request.EnterLock())
        {
            if (StartReading(scope) is { } body)
                return body.TryRead(out result);
        }

        result = EmptyBody;
        return true;
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
        => AdvanceTo(consumed, examined, isRestHeld: true);

    /// <param name="isRestHeld">Whether the application still holds the bytes that are not consumed.</param>
    public void AdvanceTo(SequencePosition consumed, SequencePosition examined, bool isRestHeld)
    {
        using (request.EnterLock())
        {
            ThrowIfOver();
            request.Body?.AdvanceTo(consumed, examined, isRestHeld);
        }

        request.Connection.ResumeReceiving();
    }

    public override void CancelPendingRead()
    {
        using var scope = request.EnterLock();
        ThrowIfOver();
        request.GetBody(scope)?.CancelPendingRead();
    }

    public override void Complete(Exception? exception = null)
    {
        using (var scope = request.EnterLock())
        {
            ThrowIfOver();
            if (request.GetBody(scope) is not { } body)
                return;

            body.CompleteReader();
        }

        if (exception is not null)
            request.ReportApplicationError(exception);
        request.Connection.ResumeReceiving();
    }

    private RequestBody? StartReading(ConnectionScope scope)
    {
        ThrowIfOver();
        // Unlike a disconnect, a local abort also discards received data.
        if (request.IsAborted && request.In(scope).InputError is ConnectionAbortedException error)
            ExceptionDispatchInfo.Throw(error);
        if (request.GetBody(scope) is not { } body)
            return null;
        if (body.IsReaderOver)
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");

        body.BeginRead(MaxRequestBodySize);
        request.HasStartedReading = true;
        return body;
    }

    private void ThrowIfOver()
    {
        if (request.HasReturned)
            throw new ObjectDisposedException(nameof(HttpRequest), "The request body cannot be used after the "
                + "request has ended.");
    }
}
