using System.Diagnostics;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The bytes of one response on their way out: a flush makes records of what is staged and moves them to the send queue, from which
/// the connection's outlet takes them in turns. <c>.Ending</c> has how a response ends.
/// </summary>
/// <remarks>
/// This object is the lock of its response, because applications write from several threads: it guards the headers, what is staged, the
/// cork and the request's body. The send queue is guarded by the lock of the connection, which is taken inside it (<see cref="LockOrder"/>).
/// </remarks>
internal sealed partial class ResponseOutput(FastCgiResponse response) : ResponseLock
{
    private ResponseStaging _staging;
    private OutputCork _cork;
    private RecordOutput _connection = null!;
    private ResponseSettings _settings = null!;
    private ushort _requestId;
    private int _heldLength;
    private int _generation;
    private bool _isDropping;
    private bool _isEnded;
    private StandardErrorWriter? _errorWriter;

    // The send queue. Its generation changes when the response ends or is dropped, with the lock of the connection held: nobody
    // waits for it, or cancels, on behalf of a response that is over.
    private BufferChain _wire;
    private int _wireGeneration;
    private TaskCompletionSource<FlushResult>? _waiter;
    private bool _waiterWantsAll;
    private bool _isFlushCanceled;

    /// <summary>The next response in the outlet's queue.</summary>
    public ResponseOutput? NextQueued { get; set; }

    /// <summary>Whether the response is in the outlet's queue.</summary>
    public bool IsQueued { get; set; }

    /// <summary>Whether the application waits until more is sent. With the lock of the connection held.</summary>
    public bool IsFlushWaiting => _waiter is not null;

    /// <summary>Which use of the object this is: it changes when the request is over.</summary>
    public int Generation => Volatile.Read(ref _generation);

    /// <summary>The bytes that were written and not flushed.</summary>
    public int UnflushedLength => _staging.Length - _heldLength;

    /// <summary>Begins the response of another request.</summary>
    /// <param name="connection">The outlet.</param>
    /// <param name="requestId">The request.</param>
    /// <param name="settings">What the responses of the server share.</param>
    public void Begin(RecordOutput connection, ushort requestId, ResponseSettings settings)
    {
        _connection = connection;
        _requestId = requestId;
        _settings = settings;
        _isDropping = false;
        _isEnded = false;
        _isFlushCanceled = false;
        _cork.Begin();
        _staging.Begin(connection.Pool, requestId);
    }

    /// <summary>Memory to write to, of at least <paramref name="sizeHint"/> bytes.</summary>
    public Memory<byte> GetMemory(int sizeHint) => _staging.Lease(sizeHint, _isDropping);

    /// <summary>Checks that so many bytes can be advanced.</summary>
    public void CheckAdvance(int count) => _staging.CheckAdvance(count);

    /// <summary>Stages bytes that were written to leased memory.</summary>
    public void Advance(int count)
    {
        if (!_isDropping)
            _staging.Advance(count);
    }

    /// <summary>Stages bytes.</summary>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        if (!_isDropping)
            _staging.Append(bytes);
    }

    /// <summary>Memory that was leased before may not be advanced any more.</summary>
    public void EndLease() => _staging.EndLease();

    /// <summary>Drops what is staged: the response becomes another one.</summary>
    public void ClearStaged()
    {
        _heldLength = 0;
        _staging.Clear();
    }

    /// <summary>Whether the header block is still to be sent.</summary>
    public bool NeedsHeaderBlock => _staging.NeedsHeaderBlock;

    /// <summary>
    /// Queues what is staged, with the header block if it was not queued; or holds it. With the lock held;
    /// <see cref="SendAsync"/> follows without it.
    /// </summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <returns>What to send and to wait for; nothing for a flush that is held or dropped.</returns>
    public PendingFlush Flush(bool isLikelyLast)
    {
        Debug.Assert(IsLockHeld);
        _staging.EndUsedLease();
        if (_isDropping || _isEnded)
            return default;

        if (_staging.Length < _settings.MaxBufferSize && !Volatile.Read(ref _isFlushCanceled) && _cork.TryHold(isLikelyLast, this, _settings.Deadlines))
        {
            _heldLength = _staging.Length;
            return new PendingFlush(_connection, _wireGeneration, IsHeld: true);
        }

        Queue(TakeRecords(end: null).Head);
        return new PendingFlush(_connection, _wireGeneration, IsHeld: false);
    }

    /// <summary>Sends what a flush has queued. Waits while more than the limit is queued.</summary>
    public ValueTask<FlushResult> SendAsync(PendingFlush flush, CancellationToken cancellationToken)
    {
        if (flush.Connection is not { } connection)
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));
        if (flush.IsHeld)
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: connection.IsClosed));

        connection.FlushNow();
        Task<FlushResult> task;
        using (connection.EnterLock())
        {
            // The response has ended meanwhile, and this object may serve another one.
            if (flush.Generation != _wireGeneration)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: connection.IsClosed));

            if (_wire.Length < _settings.MaxBufferSize || _isFlushCanceled)
                return new ValueTask<FlushResult>(TakeFlushResult());

            task = (_waiter ??= new TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }

        return new ValueTask<FlushResult>(cancellationToken.CanBeCanceled ? task.WaitAsync(cancellationToken) : task);
    }

    /// <summary>
    /// The application is about to be called, by a thread that sends what is queued when it comes back: flushes are held meanwhile.
    /// </summary>
    /// <param name="sendsAtEnd">Whether the end of the response is sent at once all the same, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd) => _cork.Cork(sendsAtEnd);

    /// <summary>The application has come back from its first call without an end: queues what is held, for the caller to send.</summary>
    public void Yield(int generation)
    {
        using (EnterLock())
        {
            if (generation != _generation)
                return;

            _cork.Yield();
            QueueHeld();
        }
    }

    /// <summary>From now on each flush is sent at once; what is held is sent now. Harmless when that use of the object is over.</summary>
    public void Uncork(int generation)
    {
        RecordOutput connection;
        using (EnterLock())
        {
            if (generation != _generation)
                return;

            connection = _connection;
            _cork.Uncork();
            QueueHeld();
        }

        connection.FlushNow();
    }

    /// <summary>The web server's error log, as text. With the lock held.</summary>
    public StandardErrorWriter OpenErrorWriter()
        => _errorWriter ??= StandardErrorWriter.Open(this, new StandardErrorStaging(_connection.Pool, _requestId, _settings.MaxStandardErrorSize));

    /// <summary>
    /// Writes to the web server's error log: with the header block or behind it, and not behind the end of the response. With the lock
    /// held.
    /// </summary>
    public void WriteError(ReadOnlySpan<byte> text)
    {
        if (_isDropping || _isEnded)
            return;

        _errorWriter!.Staging.Append(text);
        if (!_staging.NeedsHeaderBlock)
            Queue(_errorWriter.Staging.Take(isEnd: false));
    }

    /// <summary>Sends what was written to the web server's error log, as far as it is queued.</summary>
    public void SendErrors(int generation)
    {
        RecordOutput? connection = null;
        using (EnterLock())
        {
            if (generation == _generation && !_cork.IsCorked)
                connection = _connection;
        }

        connection?.FlushNow();
    }

    /// <summary>Makes a flush that waits, or else the next one, return as cancelled. With the lock held.</summary>
    public void CancelPendingFlush()
    {
        Debug.Assert(IsLockHeld);
        using (_connection.EnterLock())
        {
            if (_isEnded || _isDropping)
                return;

            if (_waiter is null)
                Volatile.Write(ref _isFlushCanceled, true);
            else
                CompleteWaiter(new FlushResult(isCanceled: true, isCompleted: false));
        }
    }

    /// <summary>
    /// Takes the records of one turn: one large record, or several that fit one together. Called by the outlet with its lock held.
    /// </summary>
    /// <returns>Whether nothing is left.</returns>
    public bool TakeTurn(ref BufferChain batch)
    {
        var taken = 0;
        while (_wire.Head is { } block && (taken == 0 || taken + block.Length <= BufferPool.LargeBlockSize))
        {
            taken += block.Length;
            batch.Append(_wire.RemoveFirst());
        }

        var isAll = _wire.Head is null;
        // At last: whoever waits may have the object serve another request at once.
        if (_waiterWantsAll ? isAll : _wire.Length < _settings.MaxBufferSize)
            CompleteWaiter(default);
        return isAll;
    }

    /// <summary>The connection is gone. Called by the outlet with its lock held.</summary>
    public void OnAbandoned()
    {
        BufferBlock.ReturnChain(_wire.Clear());
        CompleteWaiter(new FlushResult(isCanceled: false, isCompleted: true));
    }

    private void QueueHeld()
    {
        if (_cork.IsHolding)
            Queue(TakeRecords(end: null).Head);
    }

    /// <summary>Makes records of what is staged.</summary>
    private BufferChain TakeRecords(ProtocolStatus? end)
    {
        _cork.OnQueued();
        _heldLength = 0;
        var records = new BufferChain();
        _staging.TakeRecords(response, ref records, _errorWriter?.Staging, end);
        return records;
    }

    private void Queue(BufferBlock? records)
    {
        if (records is null)
            return;

        using (_connection.EnterLock())
            QueueLocked(records);
    }

    private void QueueLocked(BufferBlock records)
    {
        if (_isDropping || _connection.IsClosed)
        {
            BufferBlock.ReturnChain(records);
            return;
        }

        _wire.Append(records);
        _connection.Enqueue(this);
    }

    private void CompleteWaiter(FlushResult result)
    {
        var waiter = _waiter;
        _waiter = null;
        _waiterWantsAll = false;
        waiter?.TrySetResult(result);
    }

    /// <summary>The result of a flush that need not wait. With the connection's lock held.</summary>
    private FlushResult TakeFlushResult()
    {
        var isCanceled = _isFlushCanceled;
        _isFlushCanceled = false;
        return new FlushResult(isCanceled, isCompleted: _connection.IsClosed);
    }

    /// <summary>A flush whose records are queued, or held: what is left to do without the lock.</summary>
    public readonly record struct PendingFlush(RecordOutput? Connection, int Generation, bool IsHeld);
}
