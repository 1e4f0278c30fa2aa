namespace FastCgi.AspNetCore.Requests;

/// <summary>The bytes of one response: a flush turns staged bytes into records and queues them for sending.</summary>
/// <remarks>Also the lock of the request, because the application never gets a reference to it.</remarks>
internal sealed class ResponseOutput(FastCgiRequest request) : RequestLock
{
    private ResponseStaging _staged = new(request);

    // Not guarded: the thread that calls the application corks it before any other knows the response.
    private OutputCork _cork;

    public bool HasEnded => request.IsDetached;

    public ref ResponseStaging In(RequestScope scope)
    {
        scope.Require(this);
        return ref _staged;
    }

    /// <summary>Queues or holds the staged bytes. Call <see cref="SendAsync"/> afterwards, without the lock.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <returns>Whether the flush is held.</returns>
    public bool Flush(RequestScope scope, bool isLikelyLast)
    {
        ref var staged = ref In(scope);
        staged.EndUsedLease();
        staged.EndSpan();
        if (request.IsDetached)
            return false;

        if (staged.HeldLength < request.Server.MaxResponseBufferSize && !request.IsFlushCanceled
            && _cork.CanHold(staged.IsFlushHeld, isLikelyLast, request, request.Server.TrySetDeadline))
        {
            staged.HoldFlush();
            return true;
        }

        request.Queue(staged.TakeRecords(isEnd: false).Head);
        return false;
    }

    /// <summary>Sends the output of a flush. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(bool isHeld, CancellationToken cancellationToken) => isHeld
        ? new(new FlushResult(isCanceled: false, isCompleted: request.Connection.Output.IsClosed))
        : request.SendAsync(cancellationToken);

    /// <summary>Ends the request with all staged bytes or, if it is cut, with the flushed ones.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <returns>The work that remains without the lock.</returns>
    public CompletedRequest Complete(RequestScope scope, ProtocolStatus? status)
    {
        ref var staged = ref In(scope);
        // If the response is cut, the application may be writing.
        if (status is not null)
            staged.EndSpan();
        staged.EndLease();
        staged.ErrorWriter?.EndLine(scope);
        var isTaken = status is not null || staged.IsFlushHeld;
        if (!isTaken)
            staged.Clear();
        var records = isTaken ? staged.TakeRecords(isEnd: status is not null) : default;

        if (status is null)
            records.Append(staged.ErrorWriter?.TakeRecords(isEnd: true));
        return request.Connection.Complete(request, records, status, sends: status is null || _cork.SendsAtEnd);
    }

    public void Close(RequestScope scope)
    {
        ref var staged = ref In(scope);
        staged.Clear();
        BufferBlock.ReturnChain(staged.ErrorWriter?.TakeRecords(isEnd: false));
    }

    public void Cork(bool sendsAtEnd) => _cork.Cork(sendsAtEnd);

    /// <summary>Queues held output for the caller to send, because the application awaits.</summary>
    public void Yield()
    {
        using var scope = EnterLock();
        _cork.Yield();
        QueueHeld(scope);
    }

    /// <summary>Sends held output, and each later flush at once.</summary>
    public void Uncork()
    {
        using (var scope = EnterLock())
        {
            _cork.Uncork();
            QueueHeld(scope);
        }

        request.Connection.Output.FlushNow();
    }

    /// <summary>Queues lines for the web server's error log, but not before the header block.</summary>
    public void QueueErrors(RequestScope scope)
    {
        ref var staged = ref In(scope);
        if (!staged.NeedsHeaderBlock)
            request.Queue(staged.ErrorWriter!.TakeRecords(isEnd: false));
    }

    public void SendErrors()
    {
        // The thread that corked the response sends later, including earlier output.
        if (!_cork.IsCorked)
            request.Connection.Output.FlushNow();
    }

    private void QueueHeld(RequestScope scope)
    {
        ref var staged = ref In(scope);
        if (staged.IsFlushHeld)
            request.Queue(staged.TakeRecords(isEnd: false).Head);
    }
}

/// <summary>
/// Decides whether to hold a flush, so that one send carries more. A held flush leaves when the handler yields, ends or
/// loses its thread, or after a few milliseconds. A mutable struct: keep it in a field.
/// </summary>
internal struct OutputCork
{
    private State _state;

    private enum State : byte
    {
        /// <summary>Only flushing threads send. They hold a flush only if it is likely the last.</summary>
        Released,

        /// <summary>The first call of the application is running. Its thread sends afterwards, even the end.</summary>
        Corked,

        /// <summary>Like Corked, but the end of the response is sent at once, because nothing follows it.</summary>
        CorkedUntilEnd,

        /// <summary>Every flush is sent at once. Final.</summary>
        Uncorked,
    }

    /// <summary>Whether the thread that called the application sends queued output.</summary>
    public readonly bool IsCorked => _state is State.Corked or State.CorkedUntilEnd;

    /// <summary>Whether the thread that ends the response sends it.</summary>
    public readonly bool SendsAtEnd => _state != State.Corked;

    /// <summary>Corks the response before a call of the application, by a thread that sends afterwards.</summary>
    /// <param name="sendsAtEnd">Whether the end is still sent at once, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd)
    {
        if (_state == State.Released)
            _state = sendsAtEnd ? State.CorkedUntilEnd : State.Corked;
    }

    public void Yield()
    {
        if (IsCorked)
            _state = State.Released;
    }

    public void Uncork() => _state = State.Uncorked;

    /// <param name="trySetDeadline">Tries to schedule an uncork; <see langword="null"/> if it cannot.</param>
    public readonly bool CanHold(
        bool isHolding, bool isLikelyLast, RequestStream stream, Func<RequestStream, bool>? trySetDeadline)
        => _state switch
        {
            State.Uncorked => false,
            State.Released => isLikelyLast && (isHolding || trySetDeadline?.Invoke(stream) == true),
            _ => true,
        };
}
