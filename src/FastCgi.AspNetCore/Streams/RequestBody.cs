using System.Runtime.ExceptionServices;

namespace FastCgi.AspNetCore.Streams;

internal enum BodyError : byte
{
    TooLarge,
    UnexpectedEnd,
    RequestOver,
}

/// <summary>
/// The request body, and the application's <c>Request.BodyReader</c>: a chain of blocks under the lock of the
/// connection, with one reader. A read leases the blocks that it returns, and consuming them releases them.
/// </summary>
internal sealed class RequestBody(RequestStream request, long? declaredLength) : PipeReader
{
    private BodySegment? _first;
    private BodySegment? _last;
    private long _receivedLength;
    private long _consumedLength;
    private long _examinedLength;

    // The end of the data that the application may still hold, although it has advanced the read.
    private long _leasedEnd;

    // The end of the last result, until the read is advanced.
    private long? _resultEnd;
    private bool _mustAdvance;
    private bool _isCanceled;
    private bool _isOver;
    private bool _isReaderOver;
    private Exception? _error;
    private TaskCompletionSource? _wait;
    private BodyRateMonitor? _rate;

    /// <summary>The application's <c>Request.Body</c>. A field, because it is published with a barrier.</summary>
    public Stream? Stream;

    public long? MaxLength { get; set; } = request.Connection.Context.Options.Limits.MaxRequestBodySize;
    public bool HasStartedReading { get; private set; }
    public long ReceivedLength => Volatile.Read(ref _receivedLength);

    /// <summary>
    /// The bytes that the reader has not examined, while more may arrive. Bytes that it has examined but not consumed
    /// do not count, because it waits for more (as in .NET's pipes, and so in Kestrel).
    /// </summary>
    public long UnreadLength => _isOver || _isReaderOver ? 0 : _receivedLength - _examinedLength;

    public bool IsReading => _wait is not null;

    private bool IsEmpty => _isOver && _receivedLength == 0;

    /// <summary>Counts the time that the application has waited. Called every second.</summary>
    /// <returns>The rate, if the body arrives too slowly.</returns>
    public BodyRate? FindRateMissed(TimeProvider time, long now, bool isPaused)
        => !_isOver && _rate is { } rate && rate.IsMissed(time, now, isPaused, IsReading, _receivedLength)
            ? rate.Required
            : null;

    /// <summary>Appends content of STDIN. Bytes beyond the declared length are dropped.</summary>
    public void Append(ReadOnlySpan<byte> content)
    {
        if (_isOver || content.IsEmpty)
            return;

        var left = declaredLength - _receivedLength;
        if (content.Length > left)
            content = content[..(int)left.Value];

        if (!_isReaderOver)
            Store(content);
        Volatile.Write(ref _receivedLength, _receivedLength + content.Length);
        _isOver = _receivedLength == declaredLength;
        _wait?.TrySetResult();
    }

    /// <summary>Called at the end of STDIN. If bytes are missing, the client has failed, so reads fail too.</summary>
    public void EndInput()
    {
        if (_isOver)
            return;

        if (_receivedLength < declaredLength)
            _error = request.CreateBodyError(BodyError.UnexpectedEnd);
        _isOver = true;
        _wait?.TrySetResult();
    }

    /// <summary>Makes pending and later reads throw.</summary>
    /// <param name="discards">Whether a complete body is discarded, too.</param>
    public void Fail(Exception error, bool discards)
    {
        if (_isOver && !discards)
            return;

        _error = error;
        _isOver = true;
        _wait?.TrySetResult();
    }

    /// <summary>Ends reading. The result of the last read stays intact, because the application may use it.</summary>
    public void CompleteReader()
    {
        if (_isReaderOver)
            return;

        _isReaderOver = true;
        var isLeased = Math.Max(_resultEnd ?? 0, _leasedEnd) > _consumedLength;
        for (; _first is not null; _first = _first.NextSegment)
            _first.Return(isLeased);
        _wait?.TrySetResult();
    }

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        TaskCompletionSource wait;
        using (EnterLock())
        {
            BeginRead(cancellationToken);
            if (TryGetResult(out var result))
                return new ValueTask<ReadResult>(result);

            if (request.RequiredBodyRate is { } rate)
            {
                _rate ??= new BodyRateMonitor(rate, request.Connection.Context.Time.GetTimestamp());
                _rate.OnWaiting();
            }

            wait = _wait = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        request.Connection.ResumeReceiving();
        return WaitAsync(wait, cancellationToken);
    }

    public override bool TryRead(out ReadResult result)
    {
        using var scope = EnterLock();
        BeginRead(CancellationToken.None);
        return TryGetResult(out result);
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
        => AdvanceTo(consumed, examined, isRestLeased: true);

    /// <param name="isRestLeased">Whether the application still holds the bytes that are not consumed.</param>
    public void AdvanceTo(SequencePosition consumed, SequencePosition examined, bool isRestLeased)
    {
        using (EnterLock())
        {
            ThrowIfOver();
            // As in Kestrel, an absent body does not care.
            if (IsEmpty)
                return;
            if (_resultEnd is not { } end)
                throw new InvalidOperationException("No reading operation to complete.");

            if (!_isReaderOver)
                Advance(consumed, examined, end);
            if (isRestLeased)
                _leasedEnd = end;
            _resultEnd = null;
            _mustAdvance = false;
        }

        request.Connection.ResumeReceiving();
    }

    public override void CancelPendingRead()
    {
        using var scope = EnterLock();
        ThrowIfOver();
        if (IsEmpty)
            return;

        _isCanceled = true;
        _wait?.TrySetResult();
    }

    public override void Complete(Exception? exception = null)
    {
        using (EnterLock())
        {
            ThrowIfOver();
            if (IsEmpty)
                return;

            CompleteReader();
        }

        if (exception is not null)
            request.ReportApplicationError(exception);
        request.Connection.ResumeReceiving();
    }

    private ConnectionScope EnterLock() => request.Connection.EnterLock();

    private void ThrowIfOver()
    {
        if (request.HasReturned)
            throw request.CreateBodyError(BodyError.RequestOver);
    }

    private void ThrowIfCompleted()
    {
        if (_isReaderOver)
            throw new InvalidOperationException("Reading is not allowed after the reader was completed.");
    }

    private void BeginRead(CancellationToken cancellationToken)
    {
        // Check this first: after the end of the request, the token is ignored, as in Kestrel.
        ThrowIfOver();
        cancellationToken.ThrowIfCancellationRequested();
        ThrowIfCompleted();
        if (IsReading || _mustAdvance)
            throw new InvalidOperationException("Reading is already in progress.");
        if (declaredLength > MaxLength)
            throw request.CreateBodyError(BodyError.TooLarge, MaxLength.Value);

        // As in Kestrel, reading an absent body changes nothing.
        HasStartedReading |= !IsEmpty;
    }

    private bool TryGetResult(out ReadResult result)
    {
        if (_error is not null)
            ExceptionDispatchInfo.Throw(_error);
        // It may have been completed during the wait.
        ThrowIfCompleted();
        result = default;
        var end = _last?.EndIndex ?? _consumedLength;
        if (!_isOver && !_isCanceled && end <= _examinedLength)
            return false;
        if (end > MaxLength)
            throw request.CreateBodyError(BodyError.TooLarge, MaxLength.Value);

        var buffer = _first is null
            ? default
            : new ReadOnlySequence<byte>(
                _first, (int)(_consumedLength - _first.RunningIndex), _last!, _last!.Memory.Length);
        result = new ReadResult(buffer, _isCanceled, _isOver);
        _resultEnd = end;
        // As with .NET's pipes, a canceled read may be repeated at once.
        _mustAdvance = !_isCanceled && end > _consumedLength;
        _isCanceled = false;
        return true;
    }

    private async ValueTask<ReadResult> WaitAsync(TaskCompletionSource wait, CancellationToken cancellationToken)
    {
        try
        {
            using (cancellationToken.UnsafeRegister(
                static (wait, token) => ((TaskCompletionSource)wait!).TrySetCanceled(token), wait))
                await wait.Task.ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            using (EnterLock())
                _wait = null;
            throw new OperationCanceledException(cancellationToken);
        }

        using var scope = EnterLock();
        _wait = null;
        TryGetResult(out var result);
        return result;
    }

    private void Store(ReadOnlySpan<byte> content)
    {
        while (!content.IsEmpty)
        {
            if (_last is not { FreeLength: > 0 })
            {
                var block = request.Connection.Context.Buffers.RentBlock(content.Length);
                _last = new BodySegment(block, _last, _receivedLength);
                _first ??= _last;
            }

            content = content[_last.Append(content)..];
        }
    }

    private void Advance(SequencePosition consumed, SequencePosition examined, long end)
    {
        var consumedEnd = GetIndex(consumed, _consumedLength, end);
        // As in Kestrel, a complete body may be read again after the application has examined it.
        var least = _isOver ? consumedEnd : Math.Max(_examinedLength, consumedEnd);
        var examinedEnd = GetIndex(examined, least, end);
        if (examinedEnd < least)
            throw new InvalidOperationException("The examined position is before the consumed or an examined one.");

        _consumedLength = consumedEnd;
        _examinedLength = examinedEnd;
        for (; _first is not null && _first.EndIndex <= consumedEnd; _first = _first.NextSegment)
            _first.Return(isLeased: false);
        if (_first is null)
            _last = null;
    }

    /// <param name="absent">The result for the default position, which CopyToAsync passes if it has failed.</param>
    private long GetIndex(SequencePosition position, long absent, long end)
    {
        if (position.GetObject() is not { } wanted)
            return absent;

        var segment = _first;
        while (segment is not null && segment != wanted)
            segment = segment.NextSegment;
        var index = segment?.RunningIndex + position.GetInteger();
        return index >= _consumedLength && index <= end
            ? index.Value
            : throw new ArgumentOutOfRangeException(nameof(position), "The position is not one of the last read.");
    }
}
