namespace FastCgi.AspNetCore.Requests;

/// <summary>The part of a response that the lock of its connection guards. A mutable struct: do not copy it.</summary>
internal struct ResponseState(FastCgiRequest request)
{
    private const long NotDeclared = -1;

    public ResponseStaging Staged = new(request);
    public long BytesWritten;
    public StandardErrorWriter? ErrorWriter;
    private long _declaredLength = NotDeclared;

    /// <summary>The Content-Length that was sent, after the start.</summary>
    public long? DeclaredLength
    {
        readonly get => _declaredLength == NotDeclared ? null : _declaredLength;
        set => _declaredLength = value ?? NotDeclared;
    }
}

/// <summary>The output of one response: a flush turns staged bytes into records and queues them for sending.</summary>
internal sealed class ResponseOutput(FastCgiRequest request)
{
    private ResponseState _state = new(request);

    // Not guarded: the thread that calls the application corks it before any other knows the response.
    private OutputCork _cork;

    public bool HasEnded => request.IsDetached;

    public ref ResponseState In(ConnectionScope scope)
    {
        request.Connection.RequireLock(scope);
        return ref _state;
    }

    /// <summary>Queues or holds the staged bytes. Call <see cref="SendAsync"/> afterwards, without the lock.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <returns>Whether the flush is held.</returns>
    public bool Flush(ConnectionScope scope, bool isLikelyLast)
    {
        ref var staged = ref In(scope).Staged;
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

        request.Queue(scope, TakeRecords(scope, isEnd: false));
        return false;
    }

    /// <summary>Sends the output of a flush. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(bool isHeld, CancellationToken cancellationToken) => isHeld
        ? new(new FlushResult(isCanceled: false, isCompleted: request.Connection.Output.IsClosed))
        : request.SendAsync(cancellationToken);

    /// <summary>Ends the request with all staged bytes or, if it is cut, with the flushed ones.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <returns>The work that remains without the lock.</returns>
    public CompletedRequest Complete(ConnectionScope scope, ProtocolStatus? status)
    {
        ref var state = ref In(scope);
        // If the response is cut, the application may be writing.
        if (status is not null)
            state.Staged.EndSpan();
        state.Staged.EndLease();
        state.ErrorWriter?.EndLine(scope);
        var isTaken = status is not null || state.Staged.IsFlushHeld;
        if (!isTaken)
            state.Staged.Clear();
        var records = new BufferChain();
        if (isTaken)
            records.Append(TakeRecords(scope, isEnd: status is not null));
        if (status is null)
            records.Append(state.ErrorWriter?.TakeRecords(isEnd: true));
        return request.Connection.Complete(
            scope, request, records, status, sends: status is null || _cork.SendsAtEnd);
    }

    public void Close(ConnectionScope scope)
    {
        ref var state = ref In(scope);
        state.Staged.Clear();
        BufferBlock.ReturnChain(state.ErrorWriter?.TakeRecords(isEnd: false));
    }

    public void Cork(bool sendsAtEnd) => _cork.Cork(sendsAtEnd);

    /// <summary>Queues held output for the caller to send, because the application awaits.</summary>
    public void Yield()
    {
        using var scope = request.EnterLock();
        _cork.Yield();
        QueueHeld(scope);
    }

    /// <summary>Sends held output, and each later flush at once.</summary>
    public void Uncork()
    {
        using (var scope = request.EnterLock())
        {
            _cork.Uncork();
            QueueHeld(scope);
        }

        request.Connection.Output.FlushNow();
    }

    /// <summary>Queues lines for the web server's error log, but not before the header block.</summary>
    public void QueueErrors(ConnectionScope scope)
    {
        ref var state = ref In(scope);
        if (!state.Staged.NeedsHeaderBlock)
            request.Queue(scope, state.ErrorWriter!.TakeRecords(isEnd: false));
    }

    public void SendErrors()
    {
        // The thread that corked the response sends later, including earlier output.
        if (!_cork.IsCorked)
            request.Connection.Output.FlushNow();
    }

    private void QueueHeld(ConnectionScope scope)
    {
        if (In(scope).Staged.IsFlushHeld)
            request.Queue(scope, TakeRecords(scope, isEnd: false));
    }

    /// <summary>Removes the staged bytes and error lines as records.</summary>
    private BufferBlock? TakeRecords(ConnectionScope scope, bool isEnd)
    {
        ref var state = ref In(scope);
        var records = state.Staged.TakeRecords(isEnd);
        records.Append(state.ErrorWriter?.TakeRecords(isEnd));
        return records.Head;
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
