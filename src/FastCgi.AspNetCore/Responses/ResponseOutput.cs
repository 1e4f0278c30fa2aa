using System.Diagnostics;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The bytes of one response on their way out: a flush makes records of what is staged and moves them to the wire chain, from
/// which the connection's outlet takes them in turns.
/// </summary>
/// <remarks>
/// The staged part is guarded by this object's own monitor, for applications do write from several threads; the wire chain by the
/// lock of the connection, which is taken inside it and never around it.
/// </remarks>
internal sealed class ResponseOutput(FastCgiResponse response)
{
    private ResponseStaging _staging;
    private RecordOutput _connection = null!;
    private ushort _requestId;
    private long _pauseLength;
    private int _heldLength;
    private bool _isFlushHeld;
    private bool _isDropping;
    private bool _isEnded;
    private StandardErrorStaging? _errors;
    private StandardErrorWriter? _errorWriter;

    private BufferChain _wire;
    private TaskCompletionSource<FlushResult>? _waiter;
    private bool _waiterWantsAll;
    private bool _isFlushCanceled;

    /// <summary>The next response in the outlet's line.</summary>
    public ResponseOutput? NextReady { get; set; }

    /// <summary>Whether the response is in the outlet's line.</summary>
    public bool IsQueued { get; set; }

    /// <summary>The bytes that were written and not flushed.</summary>
    public int UnflushedLength => _staging.Length - _heldLength;

    /// <summary>Begins the response of another request.</summary>
    /// <param name="connection">The outlet.</param>
    /// <param name="requestId">The request.</param>
    /// <param name="pauseLength">The bytes that may wait to be sent before a flush waits for them.</param>
    public void Begin(RecordOutput connection, ushort requestId, long pauseLength)
    {
        Debug.Assert(_wire.Head is null && !IsQueued && _waiter is null);
        _connection = connection;
        _requestId = requestId;
        _pauseLength = pauseLength;
        _isDropping = false;
        _isEnded = false;
        _isFlushCanceled = false;
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
    public bool NeedsHead => _staging.NeedsHead;

    /// <summary>Sends what is staged, with the header block if it was not sent. Waits while more than the limit waits to be sent.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    public ValueTask<FlushResult> FlushAsync(bool isLikelyLast, CancellationToken cancellationToken)
    {
        lock (this)
        {
            _staging.EndUsedLease();
            if (_isDropping)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

            if (_staging.Length < _pauseLength && !Volatile.Read(ref _isFlushCanceled) && CanHold(isLikelyLast))
            {
                _isFlushHeld = true;
                _heldLength = _staging.Length;
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: _connection.IsClosed));
            }

            Commit(isEnd: false);
        }

        _connection.Flush();
        return WaitAsync(wantsAll: false, cancellationToken);
    }

    /// <summary>Puts what a held flush would have sent in the line. Harmless at any time.</summary>
    public void CommitHeldFlush()
    {
        lock (this)
        {
            if (_isFlushHeld)
                Commit(isEnd: false);
        }
    }

    /// <summary>Sends what a held flush would have sent. Harmless at any time.</summary>
    public void SendHeldFlush()
    {
        CommitHeldFlush();
        _connection.FlushNow();
    }

    /// <summary>The web server's error log, as text. Call it under the monitor.</summary>
    /// <param name="maxLength">The bytes that may be written to it.</param>
    public StandardErrorWriter OpenErrorWriter(long? maxLength)
    {
        _errors ??= new StandardErrorStaging(_connection.Pool, _requestId, maxLength);
        return _errorWriter ??= StandardErrorWriter.Open(this);
    }

    /// <summary>
    /// Writes to the web server's error log: with the header block or behind it, and not behind the end of the response. Call it under
    /// the monitor.
    /// </summary>
    public void WriteError(ReadOnlySpan<byte> line)
    {
        if (_isDropping || _isEnded)
            return;

        _errors!.Append(line);
        if (!_staging.NeedsHead)
            PutErrorsInLine(isEnd: false);
    }

    /// <summary>Sends what was written to the web server's error log, as far as it is in the line.</summary>
    public void SendErrors() => _connection.Flush();

    /// <summary>Ends the response: what is staged, the end of STDOUT and END_REQUEST go in the line, but are not sent yet.</summary>
    /// <param name="status">What END_REQUEST says.</param>
    /// <param name="isLast">Whether the web server is told not to keep the connection.</param>
    public void End(ProtocolStatus status, bool isLast)
    {
        lock (this)
        {
            _staging.EndLease();
            if (_isDropping)
                return;

            _errorWriter?.EndLine();
            Commit(isEnd: true, status, isLast);
        }
    }

    /// <summary>Puts what was flushed in the line, without the end of STDOUT, and behind it what shows that the rest is missing.</summary>
    /// <param name="isLast">
    /// Whether the connection is closed then: a close alone looks to nginx like the end of a response without Content-Length, but a
    /// record that only a web server sends (ABORT_REQUEST) is an error to all front-ends. Else END_REQUEST tells of the failure.
    /// </param>
    public void EndCut(bool isLast)
    {
        lock (this)
        {
            if (_isDropping)
                return;

            _errorWriter?.EndLine();
            if (MayRefuseHead)
                ClearStaged();
            else
                Commit(isEnd: false);
            PutErrorsInLine(isEnd: true);
            _isEnded = true;
            var block = _connection.Pool.RentBlock(RecordWriter.FixedRecordLength);
            block.End = isLast ? ProtocolConstants.HeaderLength : RecordWriter.FixedRecordLength;
            if (isLast)
                RecordWriter.WriteHeader(block.UsedSpan, RecordType.AbortRequest, _requestId, contentLength: 0);
            else
                RecordWriter.WriteEndRequest(block.UsedSpan, _requestId, appStatus: 1, ProtocolStatus.RequestComplete);
            lock (_connection.Lock)
                PutInLine(block);
        }
    }

    /// <summary>Waits until the outlet has taken everything.</summary>
    public ValueTask<FlushResult> DrainAsync() => WaitAsync(wantsAll: true, CancellationToken.None);

    /// <summary>From now on drops what is written, and what has not been sent of it. Under the connection's lock.</summary>
    public void Drop()
    {
        Volatile.Write(ref _isDropping, true);
        _connection.Remove(this);
        OnAbandoned();
    }

    /// <summary>The request is over.</summary>
    public void Close()
    {
        Debug.Assert(!IsQueued && _wire.Head is null);
        EndHold();
        _staging.Clear();
        BufferBlock.ReturnChain(_errors?.Take(isEnd: false));
        _errors = null;
        _errorWriter?.End();
        _errorWriter = null;
    }

    /// <summary>Makes the flush that waits, or else the next one, return as cancelled.</summary>
    public void CancelPendingFlush()
    {
        lock (_connection.Lock)
        {
            if (_waiter is null || _waiterWantsAll)
                _isFlushCanceled = true;
            else
                CompleteWaiter(new FlushResult(isCanceled: true, isCompleted: false));
        }
    }

    /// <summary>Gives up to a large record's worth of the wire chain to a send. Called by the outlet under the connection's lock.</summary>
    /// <returns>Whether that was all.</returns>
    public bool TakeTurn(ref BufferChain batch)
    {
        var taken = 0;
        while (_wire.Head is { } block && (taken == 0 || taken + block.Length <= BufferPool.LargeBlockSize))
        {
            taken += block.Length;
            batch.Append(_wire.RemoveFirst());
        }

        if (_waiterWantsAll ? _wire.Head is null : _wire.Length < _pauseLength)
            CompleteWaiter(default);
        return _wire.Head is null;
    }

    /// <summary>The connection is gone. Called by the outlet under the connection's lock.</summary>
    public void OnAbandoned()
    {
        BufferBlock.ReturnChain(_wire.Clear());
        CompleteWaiter(new FlushResult(isCanceled: false, isCompleted: true));
    }

    /// <summary>Makes records of what is staged and puts them in the line.</summary>
    private void Commit(bool isEnd, ProtocolStatus status = ProtocolStatus.RequestComplete, bool isLast = false)
    {
        EndHold();
        var records = new BufferChain();
        _staging.TakeRecords(response, ref records, _errors, isEnd ? status : null, isLast);
        _isEnded |= isEnd;
        if (records.Head is null)
            return;

        lock (_connection.Lock)
            PutInLine(records.Head);
    }

    private void PutErrorsInLine(bool isEnd)
    {
        if (_errors?.Take(isEnd) is not { } records)
            return;

        lock (_connection.Lock)
            PutInLine(records);
    }

    /// <summary>Whether the header block is still to be written, and an encoding of the application's may refuse to.</summary>
    private bool MayRefuseHead => _staging.NeedsHead && response.HasOwnEncodings;

    private bool CanHold(bool isLikelyLast)
    {
        // An encoding of the application's that refuses a value is an exception for the application, not for whoever sends later.
        if (MayRefuseHead)
            return false;

        return SendDeferral.CanHold(this) || (isLikelyLast && (_isFlushHeld || _connection.TryHold(this)));
    }

    private void EndHold()
    {
        _isFlushHeld = false;
        _heldLength = 0;
    }

    private void PutInLine(BufferBlock records)
    {
        if (_isDropping || _connection.IsClosed)
        {
            BufferBlock.ReturnChain(records);
            return;
        }

        _wire.Append(records);
        _connection.Enqueue(this);
    }

    private ValueTask<FlushResult> WaitAsync(bool wantsAll, CancellationToken cancellationToken)
    {
        Task<FlushResult> task;
        lock (_connection.Lock)
        {
            if (wantsAll && _wire.Head is null)
                return default;
            if (!wantsAll && (_wire.Length < _pauseLength || _isFlushCanceled))
                return new ValueTask<FlushResult>(TakeFlushResult());

            _waiter ??= new TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously);
            _waiterWantsAll |= wantsAll;
            task = _waiter.Task;
        }

        return new ValueTask<FlushResult>(cancellationToken.CanBeCanceled ? task.WaitAsync(cancellationToken) : task);
    }

    private void CompleteWaiter(FlushResult result)
    {
        _waiter?.TrySetResult(result);
        _waiter = null;
        _waiterWantsAll = false;
    }

    /// <summary>The result of a flush that need not wait. Under the connection's lock.</summary>
    private FlushResult TakeFlushResult()
    {
        var isCanceled = _isFlushCanceled;
        _isFlushCanceled = false;
        return new FlushResult(isCanceled, isCompleted: _connection.IsClosed);
    }
}
