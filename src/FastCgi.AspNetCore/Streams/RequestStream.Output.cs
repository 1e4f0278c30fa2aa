namespace FastCgi.AspNetCore.Streams;

/// <content>Queued records. Those in the queue when the request leaves are still sent.</content>
internal abstract partial class RequestStream
{
    /// <summary>Queues records, unless the request has left.</summary>
    public void Queue(ConnectionScope scope, BufferBlock? records)
    {
        if (records is null)
            return;

        if (IsDetached)
            BufferBlock.ReturnChain(records);
        else
            Enqueue(scope, records);
    }

    /// <summary>Sends queued records. Waits while more than the limit is queued or being sent.</summary>
    public ValueTask<FlushResult> SendAsync(CancellationToken cancellationToken)
    {
        connection.Output.FlushNow();
        TaskCompletionSource<FlushResult> wait;
        using (var scope = connection.EnterLock())
        {
            // Another thread has completed or aborted the request.
            if (IsDetached)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

            ref var state = ref In(scope);
            if (state.IsFlushCanceled || HasRoom(scope))
            {
                var isCanceled = state.IsFlushCanceled;
                state.IsFlushCanceled = false;
                return new ValueTask<FlushResult>(new FlushResult(isCanceled, isCompleted: false));
            }

            wait = state.Waiter ??= new(TaskCreationOptions.RunContinuationsAsynchronously);
            state.WaitingCount++;
        }

        return new ValueTask<FlushResult>(
            cancellationToken.CanBeCanceled ? WaitAsync(wait, cancellationToken) : wait.Task);
    }

    public void CancelPendingFlush(ConnectionScope scope)
    {
        if (IsDetached)
            return;

        if (In(scope).Waiter is null)
            In(scope).IsFlushCanceled = true;
        else
            CompleteWaiter(scope, new FlushResult(isCanceled: true, isCompleted: false));
    }

    /// <summary>Queues the last records. Another thread's flush need not wait, because nothing follows.</summary>
    public void QueueLast(ConnectionScope scope, BufferBlock? records)
    {
        if (records is not null)
            Enqueue(scope, records);
        CompleteWaiter(scope, new FlushResult(isCanceled: false, isCompleted: true));
    }

    public void DropQueued(ConnectionScope scope)
    {
        BufferBlock.ReturnChain(In(scope).Queued.Clear());
        CompleteWaiter(scope, new FlushResult(isCanceled: false, isCompleted: true));
    }

    public bool TakeRecords(ConnectionScope scope, ref BufferChain batch)
    {
        ref var state = ref In(scope);
        ref var queued = ref state.Queued;
        if (state.SendNumber != scope.State.Output.SendNumber)
            state.SendingLength = 0;
        state.SendNumber = scope.State.Output.SendNumber;
        var taken = 0;
        state.SendingLength += queued.HeldLength;
        while (queued.Head is { } block && (taken == 0 || taken + block.Length <= BufferPool.LargeBlockSize))
        {
            taken += block.Length;
            batch.Append(queued.RemoveFirst());
        }

        state.SendingLength -= queued.HeldLength;
        return queued.Head is null;
    }

    /// <summary>Called when a send has started or ended: a flush stops waiting if there is room.</summary>
    public void EndWait(ConnectionScope scope)
    {
        if (HasRoom(scope))
            CompleteWaiter(scope, default);
    }

    private void Enqueue(ConnectionScope scope, BufferBlock records)
    {
        In(scope).Queued.AppendBytes(connection.Output.Pool, records);
        connection.Output.Enqueue(scope, this);
    }

    private bool HasRoom(ConnectionScope scope)
    {
        ref var state = ref In(scope);
        ref var queue = ref scope.State.Output;
        var sending = queue.IsSending && queue.SendNumber == state.SendNumber ? state.SendingLength : 0;
        return state.Queued.HeldLength + sending < connection.Context.MaxResponseBufferSize;
    }

    private async Task<FlushResult> WaitAsync(
        TaskCompletionSource<FlushResult> wait, CancellationToken cancellationToken)
    {
        try
        {
            return await wait.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // If no flush is waiting, a later cancellation applies to the next one.
            using var scope = connection.EnterLock();
            if (In(scope).Waiter == wait && --In(scope).WaitingCount == 0)
                CompleteWaiter(scope, default);
            throw;
        }
    }

    private void CompleteWaiter(ConnectionScope scope, FlushResult result)
    {
        ref var state = ref In(scope);
        state.Waiter?.SetResult(result);
        state.Waiter = null;
        state.WaitingCount = 0;
    }
}
