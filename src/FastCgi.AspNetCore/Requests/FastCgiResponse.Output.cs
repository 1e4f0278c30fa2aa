namespace FastCgi.AspNetCore.Requests;

/// <content>The output: a flush turns staged bytes into records and queues them for sending.</content>
internal sealed partial class FastCgiResponse
{
    private ResponseStaging _state;

    // Not guarded: the thread that calls the application corks it before any other knows the response.
    private CorkState _cork;

    /// <summary>
    /// Holds flushes, so that one send carries more. A held flush leaves when the handler yields, ends or loses its
    /// thread, or after a few milliseconds.
    /// </summary>
    private enum CorkState : byte
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

    public bool HasEnded => _request.IsDetached;

    private bool IsCorked => _cork is CorkState.Corked or CorkState.CorkedUntilEnd;

    public ref ResponseStaging In(ConnectionScope scope)
    {
        _request.Connection.RequireLock(scope);
        return ref _state;
    }

    /// <summary>Queues or holds the staged bytes. Call <see cref="SendAsync"/> afterwards, without the lock.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    public bool Flush(ConnectionScope scope, bool isLikelyLast)
    {
        ref var staged = ref In(scope);
        staged.EndUsedLease();
        staged.EndSpan();
        if (_request.IsDetached)
            return false;

        if (staged.HeldLength < _request.Server.MaxResponseBufferSize && !_request.In(scope).IsFlushCanceled
            && CanHold(staged.IsFlushHeld, isLikelyLast))
        {
            staged.HoldFlush();
            return true;
        }

        _request.Queue(scope, In(scope).TakeRecords(isEnd: false));
        return false;
    }

    /// <summary>Sends the output of a flush. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(bool isHeld, CancellationToken cancellationToken) => isHeld
        ? new(new FlushResult(isCanceled: false, isCompleted: _request.Connection.Output.IsClosed))
        : _request.SendAsync(cancellationToken);

    /// <summary>Ends the request with all staged bytes or, if it is cut, with the flushed ones.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <returns>The output to send without the lock.</returns>
    private BufferBlock? End(ConnectionScope scope, ProtocolStatus? status)
    {
        ref var state = ref In(scope);
        // If the response is cut, the application may be writing.
        if (status is not null)
            state.EndSpan();
        state.EndLease();
        state.ErrorWriter?.EndLine(scope);
        var records = new BufferChain();
        if (status is not null || state.IsFlushHeld)
            records.Append(state.TakeRecords(isEnd: status is not null));
        else
            state.Clear();
        if (status is null)
            records.Append(state.ErrorWriter?.TakeRecords(isEnd: true));
        return _request.Connection.Complete(
            scope, _request, records, status, sends: status is null || _cork != CorkState.Corked);
    }

    /// <param name="sendsAtEnd">Whether the end is still sent at once, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd)
    {
        if (_cork == CorkState.Released)
            _cork = sendsAtEnd ? CorkState.CorkedUntilEnd : CorkState.Corked;
    }

    /// <summary>Queues held output for the caller to send, because the application awaits.</summary>
    public void Yield()
    {
        using var scope = _request.EnterLock();
        if (IsCorked)
            _cork = CorkState.Released;
        QueueHeld(scope);
    }

    /// <summary>Sends held output, and each later flush at once.</summary>
    public void Uncork()
    {
        using (var scope = _request.EnterLock())
        {
            _cork = CorkState.Uncorked;
            QueueHeld(scope);
        }

        _request.Connection.Output.FlushNow();
    }

    /// <summary>Queues lines for the web server's error log, but not before the header block.</summary>
    public void QueueErrors(ConnectionScope scope)
    {
        ref var state = ref In(scope);
        if (!state.NeedsHeaderBlock)
            _request.Queue(scope, state.ErrorWriter!.TakeRecords(isEnd: false));
    }

    public void SendErrors()
    {
        // The thread that corked the response sends later, including earlier output.
        if (!IsCorked)
            _request.Connection.Output.FlushNow();
    }

    private bool CanHold(bool isHolding, bool isLikelyLast) => _cork switch
    {
        CorkState.Uncorked => false,
        CorkState.Released => isLikelyLast && (isHolding || _request.Server.TrySetDeadline?.Invoke(this) == true),
        _ => true,
    };

    private void QueueHeld(ConnectionScope scope)
    {
        if (In(scope).IsFlushHeld)
            _request.Queue(scope, In(scope).TakeRecords(isEnd: false));
    }
}
