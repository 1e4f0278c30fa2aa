namespace FastCgi.AspNetCore.Streams;

/// <content>
/// The records of the response that wait in the send queue of the connection. They outlive the request: what is queued when
/// the request leaves is still sent.
/// </content>
internal abstract partial class RequestStream
{
    private BufferChain _queued;
    private FlushWait? _waiter;
    private bool _isFlushCanceled;

    // The memory that the current send, with this number, carries for this response.
    private long _sendingLength;
    private long _sendNumber;

    public RequestStream? NextQueued { get; set; }

    /// <summary>Whether a part of the response was queued.</summary>
    public bool HasOutput { get; private set; }

    /// <summary>Whether the next wait for a flush is cancelled.</summary>
    public bool IsFlushCanceled => Volatile.Read(ref _isFlushCanceled);

    private RecordOutput Outlet => connection.Output;

    public bool IsFlushWaiting(ConnectionScope scope) => _waiter is not null;

    /// <summary>Queues records, unless the request has left: then they are not needed.</summary>
    public void Queue(BufferBlock? records)
    {
        if (records is null)
            return;

        using var scope = connection.EnterLock();
        if (HasLeft)
            BufferBlock.ReturnChain(records);
        else
            Queue(scope, records);
    }

    /// <summary>Sends what is queued. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(CancellationToken cancellationToken)
    {
        Outlet.FlushNow();
        FlushWait wait;
        using (var scope = connection.EnterLock())
        {
            // Another thread has completed or aborted it.
            if (HasLeft)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

            if (_isFlushCanceled || HasRoom(scope))
            {
                var isCanceled = _isFlushCanceled;
                _isFlushCanceled = false;
                return new ValueTask<FlushResult>(new FlushResult(isCanceled, isCompleted: false));
            }

            wait = Wait(scope);
        }

        return new ValueTask<FlushResult>(cancellationToken.CanBeCanceled ? WaitAsync(wait, cancellationToken) : wait.Task);
    }

    /// <summary>Makes the pending flush, or the next one, return as cancelled.</summary>
    public void CancelPendingFlush()
    {
        using var scope = connection.EnterLock();
        if (HasLeft)
            return;

        if (_waiter is null)
            Volatile.Write(ref _isFlushCanceled, true);
        else
            CompleteWaiter(scope, new FlushResult(isCanceled: true, isCompleted: false));
    }

    /// <summary>Queues the last records. Another thread's flush need not wait, because nothing follows.</summary>
    public void QueueLast(ConnectionScope scope, BufferBlock? records)
    {
        if (records is not null)
            Queue(scope, records);
        CompleteWaiter(scope, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>Drops what is queued. Called by the output, which has removed the stream from its queue.</summary>
    public void DropQueued(ConnectionScope scope)
    {
        BufferBlock.ReturnChain(_queued.Clear());
        CompleteWaiter(scope, new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>Takes the records of one turn: one large record, or several that fit the length of one.</summary>
    /// <returns>Whether nothing is left.</returns>
    public bool TakeTurn(ConnectionScope scope, long sendNumber, ref BufferChain batch)
    {
        if (_sendNumber != sendNumber)
            _sendingLength = 0;
        _sendNumber = sendNumber;
        var taken = 0;
        _sendingLength += _queued.HeldLength;
        while (_queued.Head is { } block && (taken == 0 || taken + block.Length <= BufferPool.LargeBlockSize))
        {
            taken += block.Length;
            batch.Append(_queued.RemoveFirst());
        }

        _sendingLength -= _queued.HeldLength;
        return _queued.Head is null;
    }

    /// <summary>A send has begun or ended: a flush need not wait any longer if there is room.</summary>
    public void EndWait(ConnectionScope scope)
    {
        if (HasRoom(scope))
            CompleteWaiter(scope, default);
    }

    private void Queue(ConnectionScope scope, BufferBlock records)
    {
        HasOutput = true;
        _queued.AppendBytes(Outlet.Pool, records);
        Outlet.Enqueue(scope, this);
    }

    /// <summary>The response is aborted: drops what is not sent yet.</summary>
    private void DropOutput(ConnectionScope scope)
    {
        Outlet.Remove(scope, this);
        DropQueued(scope);
    }

    private bool HasRoom(ConnectionScope scope)
    {
        var sending = Outlet.IsSending(scope, _sendNumber) ? _sendingLength : 0;
        return _queued.HeldLength + sending < connection.Context.MaxResponseBufferSize;
    }

    private async Task<FlushResult> WaitAsync(FlushWait wait, CancellationToken cancellationToken)
    {
        try
        {
            return await wait.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // If no flush waits any longer, a later cancellation is meant for the next one.
            using var scope = connection.EnterLock();
            if (--wait.Count == 0 && _waiter == wait)
                CompleteWaiter(scope, default);
            throw;
        }
    }

    private FlushWait Wait(ConnectionScope scope)
    {
        if (_waiter is null)
        {
            _waiter = new FlushWait();
            Outlet.AddWaiter(scope, this);
        }

        _waiter.Count++;
        return _waiter;
    }

    private void CompleteWaiter(ConnectionScope scope, FlushResult result)
    {
        if (_waiter is not { } waiter)
            return;

        _waiter = null;
        Outlet.RemoveWaiter(scope, this);
        waiter.SetResult(result);
    }

    private sealed class FlushWait() : TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public int Count { get; set; }
    }
}
