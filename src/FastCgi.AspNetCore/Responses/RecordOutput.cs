using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The one outlet of a connection, shared by its requests. It takes whole records only, gives the queued responses turns of one
/// large record, and keeps one send under way, which carries all that was queued meanwhile. Any thread may use it.
/// </summary>
internal sealed class RecordOutput(BufferPool pool)
{
    // What one send carries at most: enough for the system to work on, little enough to hold for a peer that is slow.
    private const int MaxSendLength = 4 * BufferPool.LargeBlockSize;

    private readonly Lock _lock = new();
    private OutputTransport? _transport;
    private BufferChain _control;
    private ResponseOutput? _firstQueued;
    private ResponseOutput? _lastQueued;
    private BufferBlock? _sending;
    private bool _isSending;
    private bool _isClosed;
    private bool _closesWhenSent;
    private bool _hasWork;
    private int _controlLength;
    private long _sentLength;

    // Changes with each send that begins, or goes on.
    private int _sendSteps;
    private int _seenSteps;
    private long _lastStepSeenAt;

    /// <summary>Where buffers come from.</summary>
    public BufferPool Pool { get; } = pool;

    /// <summary>Whether the connection is gone, so that what is written is dropped.</summary>
    public bool IsClosed => Volatile.Read(ref _isClosed);

    /// <summary>The bytes of queued records that belong to no response. With the lock held.</summary>
    public int ControlLength => _controlLength;

    /// <summary>The bytes that were given to the transport. With the lock held.</summary>
    public long SentLength => _sentLength;

    /// <summary>Whether nothing is queued or being sent. With the lock held.</summary>
    public bool IsIdle => !_isSending && _firstQueued is null && _control.Head is null;

    /// <summary>Whether this thread has the lock.</summary>
    public bool IsLockHeld => _lock.IsHeldByCurrentThread;

    /// <summary>Connects the outlet, before anything is written.</summary>
    public void Attach(OutputTransport transport) => _transport = transport;

    /// <summary>Where what is written goes.</summary>
    public OutputTransport? Transport => _transport;

    /// <summary>Takes the lock of the connection: of this outlet, the parser, the table of requests and the lifetime.</summary>
    public LockScope EnterLock() => new(this);

    /// <summary>Queues a record that belongs to no response: of management, or an END_REQUEST alone. With the lock held.</summary>
    public Span<byte> WriteControl(int length)
    {
        if (_control.Tail is null || _control.Tail.FreeLength < length)
            _control.Append(Pool.RentBlock(length));

        var tail = _control.Tail!;
        tail.End += length;
        _controlLength += length;
        Volatile.Write(ref _hasWork, true);
        return tail.UsedSpan[^length..];
    }

    /// <summary>Queues an END_REQUEST for a request that has no response. With the lock held.</summary>
    public void WriteEndRequest(ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
        => RecordWriter.WriteEndRequest(WriteControl(RecordWriter.FixedRecordLength), requestId, appStatus, protocolStatus);

    /// <summary>Tells the transport to close the connection as soon as all is sent. With the lock held.</summary>
    public void CloseWhenSent()
    {
        _closesWhenSent = true;
        Volatile.Write(ref _hasWork, true);
    }

    /// <summary>Queues a response that has something to send. With the lock held.</summary>
    public void Enqueue(ResponseOutput response)
    {
        if (response.IsQueued || _isClosed)
            return;

        response.IsQueued = true;
        if (_lastQueued is null)
            _firstQueued = response;
        else
            _lastQueued.NextQueued = response;
        _lastQueued = response;
        Volatile.Write(ref _hasWork, true);
    }

    /// <summary>Takes a response out of the queue. With the lock held.</summary>
    public void Remove(ResponseOutput response)
    {
        if (!response.IsQueued)
            return;

        if (_firstQueued == response)
        {
            Dequeue(response);
            return;
        }

        var before = _firstQueued!;
        while (before.NextQueued != response)
            before = before.NextQueued!;

        before.NextQueued = response.NextQueued;
        if (_lastQueued == response)
            _lastQueued = before;
        response.NextQueued = null;
        response.IsQueued = false;
    }

    /// <summary>Sends what is queued, unless a send is under way, which goes on with it.</summary>
    public void FlushNow()
    {
        // Whoever queues anything calls this afterwards, so nothing that others queue now is missed.
        if (Volatile.Read(ref _hasWork))
            SendCollected(CollectNext(isSendOver: false));
    }

    /// <summary>A send that did not end at once has ended.</summary>
    public void OnSent() => SendCollected(CollectNext(isSendOver: true));

    /// <summary>A send that did not end at once has gone on, but has not ended.</summary>
    public void OnSendProgress() => Interlocked.Increment(ref _sendSteps);

    /// <summary>Whether the send that is under way has not gone on for a time. Call it every second or so, with the lock held.</summary>
    /// <param name="time">The clock.</param>
    /// <param name="now">Its timestamp.</param>
    /// <param name="limit">The time; <see langword="null"/> for none.</param>
    public bool IsSendOverdue(TimeProvider time, long now, TimeSpan? limit)
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

    /// <summary>The connection is gone: drops what is queued and completes those that wait for it.</summary>
    public void Abandon()
    {
        using (EnterLock())
        {
            if (_isClosed)
                return;

            Volatile.Write(ref _isClosed, true);
            BufferBlock.ReturnChain(_control.Clear());
            while (_firstQueued is { } response)
            {
                Dequeue(response);
                response.OnAbandoned();
            }
        }
    }

    /// <summary>
    /// Takes what the next send carries, unless one is under way. With the lock held; <see cref="SendCollected"/> follows without it.
    /// </summary>
    public BufferBlock? Collect()
    {
        if (_isSending || _isClosed)
            return null;

        _sending = CollectBatch();
        _isSending = _sending is not null;
        _sendSteps++;
        // What is left of the queue is sent by the send that begins here.
        Volatile.Write(ref _hasWork, _closesWhenSent);
        return _sending;
    }

    /// <summary>Sends what was collected, and all that was queued meanwhile.</summary>
    public void SendCollected(BufferBlock? chain)
    {
        while (chain is not null && _transport!.Send(chain))
            chain = CollectNext(isSendOver: true);
    }

    /// <summary>Takes the blocks of the last send back, and what the next one carries.</summary>
    private BufferBlock? CollectNext(bool isSendOver)
    {
        BufferBlock? sent = null;
        BufferBlock? next = null;
        var closes = false;
        using (EnterLock())
        {
            if (isSendOver)
            {
                sent = _sending;
                _sending = null;
                _isSending = false;
            }

            next = Collect();
            if (next is null && !_isSending && !_isClosed)
            {
                closes = _closesWhenSent;
                _closesWhenSent = false;
                Volatile.Write(ref _hasWork, false);
            }
        }

        BufferBlock.ReturnChain(sent);
        if (closes)
            _transport!.Close();
        return next;
    }

    private BufferBlock? CollectBatch()
    {
        var batch = new BufferChain();
        batch.Append(_control.Clear());
        _controlLength = 0;
        while (_firstQueued is { } response && batch.Length < MaxSendLength)
        {
            Dequeue(response);
            if (!response.TakeTurn(ref batch))
                Enqueue(response);
        }

        _sentLength += batch.Length;
        return batch.Head;
    }

    private void Dequeue(ResponseOutput response)
    {
        _firstQueued = response.NextQueued;
        if (_firstQueued is null)
            _lastQueued = null;
        response.NextQueued = null;
        response.IsQueued = false;
    }

    /// <summary>The lock of the connection, until it is disposed of.</summary>
    public readonly ref struct LockScope
    {
        private readonly RecordOutput _output;
        private readonly LockRank _before;

        internal LockScope(RecordOutput output)
        {
            _output = output;
            if (Invariants.AreChecked)
                _before = LockOrder.OnEntering(LockRank.Connection, output._lock.IsHeldByCurrentThread);
            output._lock.Enter();
        }

        /// <summary>Releases the lock.</summary>
        public void Dispose()
        {
            _output._lock.Exit();
            if (Invariants.AreChecked)
                LockOrder.OnExited(_before);
        }
    }
}
