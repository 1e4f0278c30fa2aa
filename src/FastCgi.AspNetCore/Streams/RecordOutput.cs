namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// The output of a connection, shared by its requests and all threads. It accepts whole records, sends one large
/// record of each queued response in turn, and keeps at most one send in progress. Its fields are read unlocked.
/// </summary>
internal sealed class RecordOutput(FastCgiConnection connection, ConnectionTransport transport)
{
    // Enough to keep the system busy, but little memory for a slow peer.
    private const int MaxSendLength = 4 * BufferPool.LargeBlockSize;
    private const int MaxSendsInARow = 4;

    private bool _isClosed;
    private bool _isSendCut;
    private bool _hasWork;
    private long _progressCount;

    public BufferPool Pool => connection.Context.Buffers;

    /// <summary>Whether the connection is gone, so that output is dropped.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Whether the rest of the current send must be dropped. Later sends are not affected.</summary>
    public bool IsSendCut => Volatile.Read(ref _isSendCut);

    /// <summary>Whether a reset would destroy other responses: queued, being sent, or in system buffers.</summary>
    /// <param name="canReset">Whether the connection would be reset. Otherwise, the system keeps its buffers.</param>
    public bool HasOtherResponses(ConnectionScope scope, RequestStream response, bool canReset)
    {
        ref var queue = ref scope.State.Output;
        if (queue.Control.Head is not null || queue.Queued.Count > (queue.Queued.Contains(response) ? 1 : 0))
            return true;
        if (queue.ResponsesEnd == 0)
            return false;

        // If the system cannot report that, the peer has read earlier responses, unless the connection was multiplexed.
        if (transport.UndeliveredLength is not { } undelivered)
            return scope.State.IsMultiplexed;

        var sent = queue.SentLength - (queue.IsSending ? queue.SendingLength : 0);
        return sent - queue.ResponsesEnd < (canReset ? undelivered : 0);
    }

    /// <summary>Queues a record that belongs to no response: a management record, or only END_REQUEST.</summary>
    public void WriteControl(ConnectionScope scope, ReadOnlySpan<byte> record)
    {
        // The queue of a closed connection would never return its memory.
        if (_isClosed || record.IsEmpty)
            return;

        Volatile.Write(ref _hasWork, true);
        record.CopyTo(scope.State.Output.Control.Write(Pool, record.Length));
    }

    public void WriteEndRequest(ConnectionScope scope, ushort requestId, ProtocolStatus status)
    {
        Span<byte> record = stackalloc byte[RecordWriter.FixedRecordLength];
        RecordWriter.WriteEndRequest(record, requestId, appStatus: 0, status);
        WriteControl(scope, record);
    }

    public void CloseWhenSent(ConnectionScope scope)
    {
        scope.State.Output.ClosesWhenSent = true;
        Volatile.Write(ref _hasWork, true);
    }

    /// <summary>Cuts the current send. The caller must then notify the transport, without the lock.</summary>
    public void CutSend(ConnectionScope scope) => Volatile.Write(ref _isSendCut, scope.State.Output.IsSending);

    public void Enqueue(ConnectionScope scope, RequestStream response)
    {
        var queued = scope.State.Output.Queued;
        if (_isClosed || queued.Contains(response))
            return;

        queued.Add(response);
        Volatile.Write(ref _hasWork, true);
    }

    /// <summary>Sends queued records, unless a send is in progress, which then sends them.</summary>
    public void FlushNow()
    {
        // Each thread calls this after it has queued records, so none that others queue now are missed.
        if (Volatile.Read(ref _hasWork))
            SendCollected(CollectNext(isSendOver: false));
    }

    public void OnSent() => SendCollected(CollectNext(isSendOver: true));

    public void OnSendProgress() => Interlocked.Increment(ref _progressCount);

    /// <summary>
    /// How long the peer has taken nothing; <see langword="null"/> if nothing waits for it. Call it every second. The
    /// steps of a send alone are too coarse: the system wants more only when a third (TCP) or three quarters (Unix) of
    /// its buffer are free.
    /// </summary>
    public TimeSpan? GetStall(ConnectionScope scope, TimeProvider time, long now)
    {
        ref var queue = ref scope.State.Output;
        // Where no reset destroys what the system holds, nothing waits.
        var isEnding = transport.CanReset && scope.State.Lifetime.IsEnding;
        if (scope.State.Lifetime.IsOver || (!queue.IsSending && !isEnding))
            return null;

        var undelivered = transport.UndeliveredLength;
        if (!queue.IsSending && undelivered is null or 0)
            return null;

        var progress = (queue.SendNumber + Volatile.Read(ref _progressCount), undelivered);
        if (progress != queue.SeenProgress)
        {
            queue.SeenProgress = progress;
            queue.ProgressSeenAt = now;
        }

        return time.GetElapsedTime(queue.ProgressSeenAt, now);
    }

    /// <summary>Drops queued output and completes waiting flushes, because the connection is gone.</summary>
    public void Abandon(ConnectionScope scope)
    {
        if (_isClosed)
            return;

        Volatile.Write(ref _isClosed, true);
        BufferBlock.ReturnChain(scope.State.Output.Control.Clear());
        DropQueued(scope);
    }

    public static void DropQueued(ConnectionScope scope)
    {
        foreach (var response in scope.State.Output.Queued)
            response.DropQueued(scope);
        scope.State.Output.Queued.Clear();
    }

    /// <summary>Creates the next send, for <see cref="SendCollected"/>, unless one is in progress.</summary>
    public BufferBlock? Collect(ConnectionScope scope)
    {
        ref var queue = ref scope.State.Output;
        if (queue.IsSending || _isClosed)
            return null;

        queue.SendNumber++;
        Volatile.Write(ref _isSendCut, false);
        queue.Sending = CollectBatch(scope);
        foreach (var request in scope.State.Requests.Values)
            request.EndWait(scope);
        // The send that starts here also sends the rest of the queue.
        Volatile.Write(ref _hasWork, queue.ClosesWhenSent);
        return queue.Sending;
    }

    public void SendCollected(BufferBlock? chain)
    {
        for (var count = 1; chain is not null && transport.Send(chain); count++)
        {
            // A peer that accepts everything at once would keep this thread from other connections.
            if (count == MaxSendsInARow && transport.TryPostSent())
                return;
            chain = CollectNext(isSendOver: true);
        }
    }

    private BufferBlock? CollectNext(bool isSendOver)
    {
        BufferBlock? sent = null;
        BufferBlock? next = null;
        var ends = false;
        using (var scope = connection.EnterLock())
        {
            ref var queue = ref scope.State.Output;
            if (isSendOver)
            {
                sent = queue.Sending;
                queue.Sending = null;
            }

            next = Collect(scope);
            if (next is null && !queue.IsSending && !_isClosed)
            {
                ends = queue.ClosesWhenSent;
                queue.ClosesWhenSent = false;
                Volatile.Write(ref _hasWork, false);
            }
        }

        BufferBlock.ReturnChain(sent);
        if (sent is not null)
            connection.ResumeReceiving();
        if (ends)
            transport.Close();
        return next;
    }

    private static BufferBlock? CollectBatch(ConnectionScope scope)
    {
        ref var queue = ref scope.State.Output;
        var batch = new BufferChain();
        var hasResponses = queue.Control.Head is not null;
        batch.Append(queue.Control.Clear());
        while (queue.Queued.Count > 0 && batch.Length < MaxSendLength)
        {
            var response = queue.Queued[0];
            queue.Queued.RemoveAt(0);
            hasResponses |= response.IsDetached;
            if (!response.TakeRecords(scope, ref batch))
                queue.Queued.Add(response);
        }

        queue.SendingLength = batch.Length;
        queue.SentLength += batch.Length;
        if (hasResponses)
            queue.ResponsesEnd = queue.SentLength;
        return batch.Head;
    }
}
