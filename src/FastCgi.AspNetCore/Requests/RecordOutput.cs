using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The one outlet of a connection, shared by its requests. It takes whole records only, gives the queued responses turns of one
/// large record, and keeps one send under way, which carries all that was queued meanwhile. Any thread may use it.
/// </summary>
internal sealed class RecordOutput(BufferPool pool, RequestConnection connection, ConnectionTransport transport)
{
    // What one send carries at most: enough for the system to work on, little enough to hold for a peer that is slow.
    private const int MaxSendLength = 4 * BufferPool.LargeBlockSize;

    private readonly Lock _lock = new();
    private BufferChain _control;

    // The queue is a ring: the last response knows the first.
    private ResponseOutput? _lastQueued;
    private BufferBlock? _sending;
    private int _sendingLength;
    private bool _isSending;
    private bool _isClosed;
    private bool _endsWhenSent;
    private bool _hasWork;
    private long _sentLength;
    private long _sendNumber;

    // Up to where the bytes that were given to the transport are complete answers.
    private long _answersEnd;

    // The responses whose application waits until more is sent.
    private List<ResponseOutput>? _waiters;

    // Changes with each send that begins, or goes on.
    private int _sendSteps;
    private int _seenSteps;
    private long _lastStepSeenAt;

    public BufferPool Pool { get; } = pool;

    /// <summary>Whether the connection is gone, so that what is written is dropped.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>Logs the records that are sent; <see langword="null"/> while that log is switched off.</summary>
    public RecordDescriber? SentRecords { get; init; }

    public ConnectionScope EnterLock() => new(_lock);

    /// <summary>The bytes of queued records that belong to no response.</summary>
    public int GetControlLength(ConnectionScope scope) => _control.Length;

    public long GetSentLength(ConnectionScope scope) => _sentLength;

    /// <summary>Whether nothing is queued or being sent.</summary>
    public bool IsIdle(ConnectionScope scope) => !_isSending && _lastQueued is null && _control.Head is null;

    /// <summary>
    /// Whether answers, complete or to other requests, may not have reached the peer, so that a reset would destroy them: those that are queued,
    /// those that are being sent, and those that the system holds.
    /// </summary>
    /// <param name="response">The response that does not count.</param>
    /// <param name="isShared">
    /// Whether requests have lived on the connection at the same time: if not, the peer has read the answer before, and else it is not known, where
    /// the system does not tell.
    /// </param>
    public bool HasOtherAnswers(ConnectionScope scope, ResponseOutput response, bool isShared)
    {
        if (_control.Head is not null || (_lastQueued is not null && (_lastQueued != response || response.NextQueued != response)))
            return true;

        if (_answersEnd == 0)
            return false;

        return transport.UndeliveredLength is { } undelivered
            ? _sentLength - _answersEnd - (_isSending ? _sendingLength : 0) < undelivered
            : isShared;
    }

    /// <summary>The complete answers that wait to be sent.</summary>
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

    /// <summary>Queues a record that belongs to no response: of management, or an END_REQUEST alone.</summary>
    public Span<byte> WriteControl(ConnectionScope scope, int length)
    {
        Volatile.Write(ref _hasWork, true);
        return _control.Write(Pool, length);
    }

    /// <summary>Queues an END_REQUEST for a request that has no response.</summary>
    public void WriteEndRequest(ConnectionScope scope, ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
        => RecordWriter.WriteEndRequest(WriteControl(scope, RecordWriter.FixedRecordLength), requestId, appStatus, protocolStatus);

    /// <summary>Has the transport end the connection as soon as all is sent.</summary>
    public void EndWhenSent(ConnectionScope scope)
    {
        _endsWhenSent = true;
        Volatile.Write(ref _hasWork, true);
    }

    public void Enqueue(ConnectionScope scope, ResponseOutput response)
    {
        if (response.NextQueued is not null || _isClosed)
            return;

        response.NextQueued = _lastQueued?.NextQueued ?? response;
        if (_lastQueued is not null)
            _lastQueued.NextQueued = response;
        _lastQueued = response;
        Volatile.Write(ref _hasWork, true);
    }

    /// <summary>Whether the send of a number is under way.</summary>
    public bool IsSending(ConnectionScope scope, long sendNumber) => _isSending && _sendNumber == sendNumber;

    /// <summary>Has <see cref="ResponseOutput.EndWait"/> called when a send has begun or ended.</summary>
    public void AddWaiter(ConnectionScope scope, ResponseOutput response) => (_waiters ??= []).Add(response);

    public void RemoveWaiter(ConnectionScope scope, ResponseOutput response) => _waiters?.Remove(response);

    public void Remove(ConnectionScope scope, ResponseOutput response)
    {
        if (response.NextQueued is null)
            return;

        var before = response;
        while (before.NextQueued != response)
            before = before.NextQueued!;
        RemoveAfter(before);
    }

    /// <summary>Sends what is queued, unless a send is under way, which goes on with it.</summary>
    public void FlushNow()
    {
        // Each thread that queues anything calls this afterwards, so nothing that others queue now is missed.
        if (Volatile.Read(ref _hasWork))
            SendCollected(CollectNext(isSendOver: false));
    }

    /// <summary>A send that did not end at once has ended.</summary>
    public void OnSent() => SendCollected(CollectNext(isSendOver: true));

    /// <summary>A send that did not end at once has gone on, but has not ended.</summary>
    public void OnSendProgress() => Interlocked.Increment(ref _sendSteps);

    /// <summary>Whether the send that is under way has not gone on for a time. Call it every second or so.</summary>
    /// <param name="limit">The time; <see langword="null"/> for none.</param>
    public bool IsSendOverdue(ConnectionScope scope, TimeProvider time, long now, TimeSpan? limit)
    {
        var steps = Volatile.Read(ref _sendSteps);
        if (!_isSending || steps != _seenSteps)
        {
            _seenSteps = steps;
            _lastStepSeenAt = now;
            return false;
        }

        return time.GetElapsedTime(_lastStepSeenAt, now) >= limit;
    }

    /// <summary>The connection is gone: drops what is queued and completes the flushes that wait for it.</summary>
    public void Abandon(ConnectionScope scope)
    {
        if (_isClosed)
            return;

        Volatile.Write(ref _isClosed, true);
        BufferBlock.ReturnChain(_control.Clear());
        while (_lastQueued is { } last)
            RemoveAfter(last).DropQueued(scope);
    }

    /// <summary>Takes what the next send carries, unless one is under way. <see cref="SendCollected"/> follows without the lock.</summary>
    public BufferBlock? Collect(ConnectionScope scope)
    {
        if (_isSending || _isClosed)
            return null;

        _sendNumber++;
        _sending = CollectBatch(scope);
        _isSending = _sending is not null;
        _sendSteps++;
        EndWaits(scope);
        // What is left of the queue is sent by the send that begins here.
        Volatile.Write(ref _hasWork, _endsWhenSent);
        return _sending;
    }

    /// <summary>Sends what was collected, and all that was queued meanwhile.</summary>
    public void SendCollected(BufferBlock? chain)
    {
        while (chain is not null)
        {
            if (SentRecords is not null)
                Describe(chain, SentRecords);
            chain = transport.Send(chain) ? CollectNext(isSendOver: true) : null;
        }
    }

    private static void Describe(BufferBlock chain, RecordDescriber records)
    {
        for (var block = chain; block is not null; block = block.Next)
            records.Take(block.UsedSpan);
    }

    /// <summary>Takes the blocks of the last send back, and what the next one carries.</summary>
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

    private ResponseOutput RemoveAfter(ResponseOutput before)
    {
        var response = before.NextQueued!;
        before.NextQueued = response.NextQueued;
        if (_lastQueued == response)
            _lastQueued = before == response ? null : before;
        response.NextQueued = null;
        return response;
    }
}
