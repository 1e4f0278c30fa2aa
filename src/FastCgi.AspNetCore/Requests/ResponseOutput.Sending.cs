namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The send queue of the response. It holds whole records under the lock of the connection, and outlives the request: records that are queued when
/// the request leaves are still sent.
/// </content>
internal sealed partial class ResponseOutput
{
    private BufferChain _wire;
    private FlushWait? _waiter;
    private bool _isFlushCanceled;

    // The memory that the current send, with this number, carries for this response.
    private long _sendingLength;
    private long _sendNumber;

    public ResponseOutput? NextQueued { get; set; }

    /// <summary>Whether the request has left its connection, so that its end is queued, or its records are dropped.</summary>
    public bool HasLeft => request.HasLeft;

    public bool IsFlushWaiting(ConnectionScope connection) => _waiter is not null;

    /// <summary>Sends what a flush has queued. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(FlushOutcome outcome, CancellationToken cancellationToken)
    {
        if (outcome != FlushOutcome.Queued)
        {
            var isCompleted = outcome == FlushOutcome.Dropped || Outlet.IsClosed;
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted));
        }

        Outlet.FlushNow();
        FlushWait wait;
        using (var connection = Outlet.EnterLock())
        {
            // Another thread has completed or aborted it.
            if (request.HasLeft)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

            if (_isFlushCanceled || HasRoom(connection))
            {
                var isCanceled = _isFlushCanceled;
                _isFlushCanceled = false;
                return new ValueTask<FlushResult>(new FlushResult(isCanceled, isCompleted: false));
            }

            wait = Wait(connection);
        }

        return new ValueTask<FlushResult>(cancellationToken.CanBeCanceled ? WaitAsync(wait, cancellationToken) : wait.Task);
    }

    public void CancelPendingFlush(RequestScope scope)
    {
        using var connection = Outlet.EnterLock();
        if (request.HasLeft)
            return;

        if (_waiter is null)
            Volatile.Write(ref _isFlushCanceled, true);
        else
            CompleteWaiter(connection, new FlushResult(isCanceled: true, isCompleted: false));
    }

    /// <summary>Ends the request with this response: with everything staged, or, if it is cut, with what was flushed.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <returns>The work that remains without the lock.</returns>
    public EndedRequest End(RequestScope scope, ProtocolStatus? status)
    {
        _staging.EndLease();
        _errorWriter?.EndLine(scope);
        if (status is null && !IsHolding)
            ClearStaged(scope);
        var records = status is not null || IsHolding ? TakeRecords(scope, isEnd: status is not null) : default;

        if (status is null)
            records.Append(_errorWriter?.Staging.Take(isEnd: true));
        return request.Connection.End(request, records, status, sends: status is null || _cork.SendsAtEnd);
    }

    /// <summary>The request is over: returns the memory of unsent bytes.</summary>
    public void Close(RequestScope scope)
    {
        ClearStaged(scope);
        BufferBlock.ReturnChain(_errorWriter?.Staging.Take(isEnd: false));
    }

    public void Queue(ConnectionScope connection, BufferBlock? records)
    {
        if (records is null)
            return;

        _wire.AppendBytes(Outlet.Pool, records);
        Outlet.Enqueue(connection, this);
    }

    /// <summary>Queues the end. Another thread's flush need not wait, because nothing follows.</summary>
    public void QueueEnd(ConnectionScope connection, BufferBlock? records)
    {
        Queue(connection, records);
        CompleteWaiter(connection, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>The response is aborted: drops what is not sent yet.</summary>
    public void Drop(ConnectionScope connection)
    {
        Outlet.Remove(connection, this);
        DropQueued(connection);
    }

    /// <summary>Drops what is queued. Called by the output, which has removed the response from its queue.</summary>
    public void DropQueued(ConnectionScope connection)
    {
        BufferBlock.ReturnChain(_wire.Clear());
        CompleteWaiter(connection, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>Takes the records of one turn: one large record, or several that fit the length of one.</summary>
    /// <returns>Whether nothing is left.</returns>
    public bool TakeTurn(ConnectionScope connection, long sendNumber, ref BufferChain batch)
    {
        if (_sendNumber != sendNumber)
            _sendingLength = 0;
        _sendNumber = sendNumber;
        var taken = 0;
        _sendingLength += _wire.HeldLength;
        while (_wire.Head is { } block && (taken == 0 || taken + block.Length <= BufferPool.LargeBlockSize))
        {
            taken += block.Length;
            batch.Append(_wire.RemoveFirst());
        }

        _sendingLength -= _wire.HeldLength;
        return _wire.Head is null;
    }

    /// <summary>A send has begun or ended: a flush need not wait any longer if there is room.</summary>
    public void EndWait(ConnectionScope connection)
    {
        if (HasRoom(connection))
            CompleteWaiter(connection, default);
    }

    private void Queue(RequestScope scope, BufferBlock? records)
    {
        if (records is null)
            return;

        using var connection = Outlet.EnterLock();
        // If another thread has aborted the request, the records are not needed.
        if (request.HasLeft)
            BufferBlock.ReturnChain(records);
        else
            Queue(connection, records);
    }

    private bool HasRoom(ConnectionScope connection)
        => _wire.HeldLength + (Outlet.IsSending(connection, _sendNumber) ? _sendingLength : 0) < request.Server.MaxResponseBufferSize;

    private async Task<FlushResult> WaitAsync(FlushWait wait, CancellationToken cancellationToken)
    {
        try
        {
            return await wait.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // If no flush waits any longer, a later cancellation is meant for the next one.
            using var connection = Outlet.EnterLock();
            if (--wait.Count == 0 && _waiter == wait)
                CompleteWaiter(connection, default);
            throw;
        }
    }

    private FlushWait Wait(ConnectionScope connection)
    {
        if (_waiter is null)
        {
            _waiter = new FlushWait();
            Outlet.AddWaiter(connection, this);
        }

        _waiter.Count++;
        return _waiter;
    }

    private void CompleteWaiter(ConnectionScope connection, FlushResult result)
    {
        if (_waiter is not { } waiter)
            return;

        _waiter = null;
        Outlet.RemoveWaiter(connection, this);
        waiter.SetResult(result);
    }

    private sealed class FlushWait() : TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public int Count { get; set; }
    }
}
