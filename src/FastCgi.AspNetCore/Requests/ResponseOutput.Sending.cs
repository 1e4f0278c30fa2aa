using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The send queue of the response. It holds whole records, is guarded by the lock of the connection, and goes on without the request: what is
/// queued when the request leaves is still sent.
/// </content>
internal sealed partial class ResponseOutput
{
    private BufferChain _wire;
    private FlushWait? _waiter;
    private bool _isFlushCanceled;

    // The memory that the send under way, of that number, carries for this response.
    private long _sendingLength;
    private long _sendNumber;

    /// <summary>The next response in the outlet's queue.</summary>
    public ResponseOutput? NextQueued { get; set; }

    /// <summary>Whether the request has left its connection, so that the end of its records is queued, or they are dropped.</summary>
    public bool HasLeft => request.HasLeft;

    /// <summary>Whether the application waits until more is sent.</summary>
    public bool IsFlushWaiting(ConnectionScope connection) => _waiter is not null;

    /// <summary>Sends what a flush has queued. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(FlushOutcome outcome, CancellationToken cancellationToken)
    {
        if (outcome != FlushOutcome.Queued)
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: outcome == FlushOutcome.Dropped || Outlet.IsClosed));

        Outlet.FlushNow();
        FlushWait wait;
        using (var connection = Outlet.EnterLock())
        {
            // It has been completed, or aborted, by another thread.
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

    /// <summary>Makes a flush that waits, or else the next one, return as cancelled.</summary>
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

    /// <summary>
    /// Ends the request with this response. A complete one is all that is staged; of one that is cut, so that the client sees that the rest is
    /// missing, it is what was flushed.
    /// </summary>
    /// <param name="status">What END_REQUEST says; <see langword="null"/> to cut the response.</param>
    /// <returns>What is left to do without the lock.</returns>
    public EndedRequest End(RequestScope scope, ProtocolStatus? status)
    {
        _staging.EndLease();
        _errorWriter?.EndLine(scope);
        BufferChain records;
        if (status is not null || IsHolding)
        {
            records = TakeRecords(scope, isEnd: status is not null);
        }
        else
        {
            ClearStaged(scope);
            records = default;
        }

        if (status is null)
            records.Append(_errorWriter?.Staging.Take(isEnd: true));
        return request.Connection.End(request, records, status, sends: status is null || _cork.SendsAtEnd);
    }

    /// <summary>The request is over: returns the memory of what was not sent.</summary>
    public void Close(RequestScope scope)
    {
        ClearStaged(scope);
        BufferBlock.ReturnChain(_errorWriter?.Staging.Take(isEnd: false));
    }

    /// <summary>Queues records.</summary>
    public void Queue(ConnectionScope connection, BufferBlock? records)
    {
        if (records is null)
            return;

        _wire.AppendBytes(Outlet.Pool, records);
        Outlet.Enqueue(connection, this);
    }

    /// <summary>Queues the end. A flush that another thread waits for need not wait: nothing follows it.</summary>
    public void QueueEnd(ConnectionScope connection, BufferBlock? records)
    {
        Queue(connection, records);
        CompleteWaiter(connection, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>The response is aborted: drops what has not been sent.</summary>
    public void Drop(ConnectionScope connection)
    {
        Outlet.Remove(connection, this);
        DropQueued(connection);
    }

    /// <summary>Drops what is queued. Called by the outlet, which has taken the response out of its queue.</summary>
    public void DropQueued(ConnectionScope connection)
    {
        BufferBlock.ReturnChain(_wire.Clear());
        CompleteWaiter(connection, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>Takes the records of one turn: one large record, or several that fit one together.</summary>
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
        // Aborted by another thread: nobody takes these.
        if (request.HasLeft)
            BufferBlock.ReturnChain(records);
        else
            Queue(connection, records);
    }

    private bool HasRoom(ConnectionScope connection)
        => _wire.HeldLength + (Outlet.IsSending(connection, _sendNumber) ? _sendingLength : 0) < Settings.MaxBufferSize;

    private async Task<FlushResult> WaitAsync(FlushWait wait, CancellationToken cancellationToken)
    {
        try
        {
            return await wait.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // If nobody waits any longer, what cancels a flush from now on is meant for the next one.
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

    /// <summary>What flushes wait for, of one thread or of several.</summary>
    private sealed class FlushWait() : TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        /// <summary>How many wait.</summary>
        public int Count { get; set; }
    }
}
