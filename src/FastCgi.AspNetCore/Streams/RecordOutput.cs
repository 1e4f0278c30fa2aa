namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// The output of a connection, shared by its requests. It takes only whole records, gives queued responses turns of one large record, and keeps at
/// most one send in progress, which carries everything queued meanwhile. Any thread may use it.
/// </summary>
internal sealed class RecordOutput(BufferPool pool, FastCgiConnection connection, ConnectionTransport transport)
{
    // The maximum of one send: enough to keep the system busy, but little to hold for a slow peer.
    private const int MaxSendLength = 4 * BufferPool.LargeBlockSize;

    private readonly Lock _lock = new();
    private BufferChain _control;

    // The queue is a ring: the last response refers to the first.
    private RequestStream? _lastQueued;
    private BufferBlock? _sending;
    private int _sendingLength;
    private bool _isSending;
    private bool _isClosed;
    private bool _endsWhenSent;
    private bool _hasWork;
    private long _sentLength;
    private long _sendNumber;

    // How many of the bytes that were given to the transport are complete responses.
    private long _answersEnd;

    // The responses whose application waits for a send.
    private List<RequestStream>? _waiters;

    // How often a send has made progress, and that number with the number of sends when it last changed.
    private long _progressCount;
    private long _seenSteps;
    private long _lastStepSeenAt;

    public BufferPool Pool { get; } = pool;

    /// <summary>Whether the connection is gone, so that output is dropped.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Logs the records that are sent; <see langword="null"/> if that log is off.</summary>
    public RecordDescriber? SentRecords { get; init; }

    public ConnectionScope EnterLock() => new(_lock);

    /// <summary>The length of queued records that belong to no response.</summary>
    public int GetControlLength(ConnectionScope scope) => _control.Length;

    public long GetSentLength(ConnectionScope scope) => _sentLength;

    public bool IsIdle(ConnectionScope scope) => !_isSending && _lastQueued is null && _control.Head is null;

    /// <summary>Whether a reset would destroy other responses that may not have reached the peer: queued, being sent, or held by the system.</summary>
    /// <param name="response">The response that does not count.</param>
    /// <param name="isShared">
    /// Whether the connection was multiplexed. If not, the peer has read earlier responses. If so, they may be undelivered where the system cannot
    /// report that.
    /// </param>
    public bool HasOtherAnswers(ConnectionScope scope, RequestStream response, bool isShared)
    {
        if (_control.Head is not null || (_lastQueued is not null && (_lastQueued != response || response.NextQueued != response)))
            return true;

        if (_answersEnd == 0)
            return false;

        return transport.UndeliveredLength is { } undelivered
            ? _sentLength - _answersEnd - (_isSending ? _sendingLength : 0) < undelivered
            : isShared;
    }

    /// <summary>The complete responses that wait to be sent.</summary>
    public int CountAnswers(ConnectionScope scope)
    {
        var count = 0;
        if (_lastQueued is not { } response)
            return count;

        do
        {
            count += response.HasLeft ? 1 : 0;
            response = response.NextQueued!;
        }
        while (response != _lastQueued);

        return count;
    }

    /// <summary>Queues a record that belongs to no response: a management record, or only END_REQUEST.</summary>
    public Span<byte> WriteControl(ConnectionScope scope, int length)
    {
        // Nobody would return the memory of a closed connection's queue.
        if (_isClosed)
            return new byte[length];

        Volatile.Write(ref _hasWork, true);
        return _control.Write(Pool, length);
    }

    public void WriteEndRequest(ConnectionScope scope, ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
        => RecordWriter.WriteEndRequest(WriteControl(scope, RecordWriter.FixedRecordLength), requestId, appStatus, protocolStatus);

    /// <summary>Makes the transport end the connection as soon as everything is sent.</summary>
    public void EndWhenSent(ConnectionScope scope)
    {
        _endsWhenSent = true;
        Volatile.Write(ref _hasWork, true);
    }

    public void Enqueue(ConnectionScope scope, RequestStream response)
    {
        if (response.NextQueued is not null || _isClosed)
            return;

        response.NextQueued = _lastQueued?.NextQueued ?? response;
        if (_lastQueued is not null)
            _lastQueued.NextQueued = response;
        _lastQueued = response;
        Volatile.Write(ref _hasWork, true);
    }

    public bool IsSending(ConnectionScope scope, long sendNumber) => _isSending && _sendNumber == sendNumber;

    /// <summary>Calls <see cref="RequestStream.EndWait"/> whenever a send begins or ends.</summary>
    public void AddWaiter(ConnectionScope scope, RequestStream response) => (_waiters ??= []).Add(response);

    public void RemoveWaiter(ConnectionScope scope, RequestStream response) => _waiters?.Remove(response);

    public void Remove(ConnectionScope scope, RequestStream response)
    {
        if (response.NextQueued is null)
            return;

        var before = response;
        while (before.NextQueued != response)
            before = before.NextQueued!;
        RemoveAfter(before);
    }

    /// <summary>Sends what is queued, unless a send is in progress, which continues with it.</summary>
    public void FlushNow()
    {
        // Each thread calls this after it has queued something, so nothing that others queue now is missed.
        if (Volatile.Read(ref _hasWork))
            SendCollected(CollectNext(isSendOver: false));
    }

    public void OnSent() => SendCollected(CollectNext(isSendOver: true));

    public void OnSendProgress() => Interlocked.Increment(ref _progressCount);

    /// <summary>Whether the current send has made no progress for the limit, if any. Call it every second.</summary>
    public bool IsSendOverdue(ConnectionScope scope, TimeProvider time, long now, TimeSpan? limit)
    {
        var steps = _sendNumber + Volatile.Read(ref _progressCount);
        if (!_isSending || steps != _seenSteps)
        {
            _seenSteps = steps;
            _lastStepSeenAt = now;
            return false;
        }

        return time.GetElapsedTime(_lastStepSeenAt, now) >= limit;
    }

    /// <summary>The connection is gone: drops what is queued and completes waiting flushes.</summary>
    public void Abandon(ConnectionScope scope)
    {
        if (_isClosed)
            return;

        Volatile.Write(ref _isClosed, true);
        BufferBlock.ReturnChain(_control.Clear());
        DropQueued(scope);
    }

    /// <summary>Drops the queued responses. What is being sent is not affected.</summary>
    public void DropQueued(ConnectionScope scope)
    {
        while (_lastQueued is { } last)
            RemoveAfter(last).DropQueued(scope);
    }

    /// <summary>Takes the content of the next send, unless one is in progress. The caller then calls <see cref="SendCollected"/> without the lock.</summary>
    public BufferBlock? Collect(ConnectionScope scope)
    {
        if (_isSending || _isClosed)
            return null;

        _sendNumber++;
        _sending = CollectBatch(scope);
        _isSending = _sending is not null;
        EndWaits(scope);
        // The send that begins here also sends the rest of the queue.
        Volatile.Write(ref _hasWork, _endsWhenSent);
        return _sending;
    }

    /// <summary>Sends what was collected, and everything queued meanwhile.</summary>
    public void SendCollected(BufferBlock? chain)
    {
        while (chain is not null)
        {
            for (var block = chain; block is not null && SentRecords is not null; block = block.Next)
                SentRecords.Take(block.UsedSpan);
            chain = transport.Send(chain) ? CollectNext(isSendOver: true) : null;
        }
    }

    /// <summary>Takes back the blocks of the last send, and takes the content of the next.</summary>
    private BufferBlock? CollectNext(bool isSendOver)
    {
        BufferBlock? sent = null;
        BufferBlock? next = null;
        var ends = false;
        using (var scope = EnterLock())
        {
            if (isSendOver)
            {
                sent = _sending;
                _sending = null;
                _isSending = false;
            }

            next = Collect(scope);
            if (next is null && !_isSending && !_isClosed)
            {
                ends = _endsWhenSent;
                _endsWhenSent = false;
                Volatile.Write(ref _hasWork, false);
            }
        }

        BufferBlock.ReturnChain(sent);
        if (sent is not null)
            connection.ResumeReceiving();
        if (ends)
            transport.End();
        return next;
    }

    private BufferBlock? CollectBatch(ConnectionScope scope)
    {
        var batch = new BufferChain();
        var hasAnswers = _control.Head is not null;
        batch.Append(_control.Clear());
        while (_lastQueued is { } last && batch.Length < MaxSendLength)
        {
            var response = RemoveAfter(last);
            hasAnswers |= response.HasLeft;
            if (!response.TakeTurn(scope, _sendNumber, ref batch))
                Enqueue(scope, response);
        }

        _sendingLength = batch.Length;
        _sentLength += batch.Length;
        if (hasAnswers)
            _answersEnd = _sentLength;
        return batch.Head;
    }

    private void EndWaits(ConnectionScope scope)
    {
        for (var i = (_waiters?.Count ?? 0) - 1; i >= 0; i--)
            _waiters![i].EndWait(scope);
    }

    private RequestStream RemoveAfter(RequestStream before)
    {
        var response = before.NextQueued!;
        before.NextQueued = response.NextQueued;
        if (_lastQueued == response)
            _lastQueued = before == response ? null : before;
        response.NextQueued = null;
        return response;
    }
}
