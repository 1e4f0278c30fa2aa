using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The bytes of one response on their way out: a flush makes records of what is staged and moves them to the send queue, from which
/// the connection's outlet takes them in turns. <c>.Sending</c> has the queue.
/// </summary>
internal sealed partial class ResponseOutput(FastCgiRequest request)
{
    private const int NotHeld = -1;

    private ResponseStaging _staging = new(request.Connection.Output.Pool, request.Id);
    private OutputCork _cork;

    // How much of what is staged is a flush that is held.
    private int _heldLength = NotHeld;
    private StandardErrorWriter? _errorWriter;

    /// <summary>What a flush has done.</summary>
    public enum FlushOutcome : byte
    {
        /// <summary>The request has left its connection.</summary>
        Dropped,

        /// <summary>The flush is held for a moment.</summary>
        Held,

        /// <summary>Its records are queued.</summary>
        Queued,
    }

    /// <summary>Whether the header block is still to be sent.</summary>
    public bool NeedsHeaderBlock => _staging.NeedsHeaderBlock;

    private RecordOutput Outlet => request.Connection.Output;

    private ResponseSettings Settings => request.Server.Responses;

    private bool IsHolding => _heldLength != NotHeld;

    public RequestScope EnterLock() => request.EnterLock();

    public void ThrowIfOver(Type type) => ObjectDisposedException.ThrowIf(request.IsOver, type);

    public int GetUnflushedLength(RequestScope scope) => _staging.Length - Math.Max(_heldLength, 0);

    public Memory<byte> GetMemory(RequestScope scope, int sizeHint) => _staging.Lease(sizeHint, isDropped: request.HasLeft);

    public void CheckAdvance(RequestScope scope, int count) => _staging.CheckAdvance(count);

    public void Advance(RequestScope scope, int count)
    {
        if (!request.HasLeft)
            _staging.Advance(count);
    }

    public void Write(RequestScope scope, ReadOnlySpan<byte> bytes)
    {
        if (!request.HasLeft)
            _staging.Append(bytes);
    }

    /// <summary>Memory that was leased before may not be advanced any more.</summary>
    public void EndLease(RequestScope scope) => _staging.EndLease();

    /// <summary>Drops what is staged: the response becomes another one, or is over.</summary>
    public void ClearStaged(RequestScope scope)
    {
        _heldLength = NotHeld;
        _staging.Clear();
    }

    /// <summary>Queues what is staged, with the header block if it was not queued; or holds it. <see cref="SendAsync"/> follows without the lock.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    public FlushOutcome Flush(RequestScope scope, bool isLikelyLast)
    {
        _staging.EndUsedLease();
        if (request.HasLeft)
            return FlushOutcome.Dropped;

        if (_staging.HeldLength < Settings.MaxBufferSize && !Volatile.Read(ref _isFlushCanceled)
            && _cork.CanHold(IsHolding, isLikelyLast, this, Settings.TrySetDeadline))
        {
            _heldLength = _staging.Length;
            return FlushOutcome.Held;
        }

        Queue(scope, TakeRecords(scope, isEnd: false).Head);
        return FlushOutcome.Queued;
    }

    /// <summary>
    /// The application is about to be called, by a thread that sends what is queued when it comes back: flushes are held meanwhile.
    /// </summary>
    /// <param name="sendsAtEnd">Whether the end of the response is sent at once all the same, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd) => _cork.Cork(sendsAtEnd);

    /// <summary>The application has come back from its first call without an end: queues what is held, for the caller to send.</summary>
    public void Yield()
    {
        using var scope = EnterLock();
        _cork.Yield();
        QueueHeld(scope);
    }

    /// <summary>From now on each flush is sent at once; what is held is sent now.</summary>
    public void Uncork()
    {
        using (var scope = EnterLock())
        {
            _cork.Uncork();
            QueueHeld(scope);
        }

        Outlet.FlushNow();
    }

    /// <summary>The web server's error log, as text.</summary>
    public StandardErrorWriter OpenErrorWriter(RequestScope scope)
        => _errorWriter ??= new StandardErrorWriter(this, new StandardErrorStaging(Outlet.Pool, request.Id, Settings.MaxStandardErrorSize));

    /// <summary>Writes to the web server's error log: with the header block or behind it, and not behind the end of the response.</summary>
    public void WriteError(RequestScope scope, ReadOnlySpan<byte> line)
    {
        if (request.HasLeft)
            return;

        _errorWriter!.Staging.Append(scope, line);
        if (!_staging.NeedsHeaderBlock)
            Queue(scope, _errorWriter.Staging.Take(isEnd: false));
    }

    /// <summary>Sends what was written to the web server's error log, as far as it is queued.</summary>
    public void SendErrors()
    {
        // Whoever has corked the response sends later, and sees what was queued before this.
        if (!_cork.IsCorked)
            Outlet.FlushNow();
    }

    private void QueueHeld(RequestScope scope)
    {
        if (IsHolding)
            Queue(scope, TakeRecords(scope, isEnd: false).Head);
    }

    /// <summary>Makes records of what is staged.</summary>
    private BufferChain TakeRecords(RequestScope scope, bool isEnd)
    {
        _heldLength = NotHeld;
        return _staging.TakeRecords(request.Response, _errorWriter?.Staging, isEnd);
    }
}
