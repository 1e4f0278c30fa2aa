using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The bytes of one response on their way out: a flush turns what is staged into records and moves them to the send queue (<c>.Sending</c>), from
/// which the connection's output takes them in turns.
/// </summary>
internal sealed partial class ResponseOutput(FastCgiRequest request)
{
    private const int NotHeld = -1;

    private ResponseStaging _staging = new(request.Connection.Output.Pool, request.Id);
    private OutputCork _cork;

    // The length of the held flush within what is staged.
    private int _heldLength = NotHeld;
    private StandardErrorWriter? _errorWriter;

    public enum FlushOutcome : byte
    {
        Dropped,
        Held,
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

    /// <summary>Invalidates memory that was leased before.</summary>
    public void EndLease(RequestScope scope) => _staging.EndLease();

    /// <summary>Drops what is staged: another response replaces it, or it is over.</summary>
    public void ClearStaged(RequestScope scope)
    {
        _heldLength = NotHeld;
        _staging.Clear();
    }

    /// <summary>Queues or holds what is staged, with the header block if necessary. The caller then calls <see cref="SendAsync"/> without the lock.</summary>
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

    /// <inheritdoc cref="OutputCork.Cork"/>
    public void Cork(bool sendsAtEnd) => _cork.Cork(sendsAtEnd);

    /// <summary>The application has returned from its first call before the end: queues what is held, for the caller to send.</summary>
    public void Yield()
    {
        using var scope = EnterLock();
        _cork.Yield();
        QueueHeld(scope);
    }

    /// <summary>Sends what is held, and from now on each flush at once.</summary>
    public void Uncork()
    {
        using (var scope = EnterLock())
        {
            _cork.Uncork();
            QueueHeld(scope);
        }

        Outlet.FlushNow();
    }

    public StandardErrorWriter OpenErrorWriter(RequestScope scope)
        => _errorWriter ??= new StandardErrorWriter(this, new StandardErrorStaging(Outlet.Pool, request.Id, Settings.MaxStandardErrorSize));

    /// <summary>Writes to the web server's error log, not before the header block, and not after the end of the response.</summary>
    public void WriteError(RequestScope scope, ReadOnlySpan<byte> line)
    {
        if (request.HasLeft)
            return;

        _errorWriter!.Staging.Append(scope, line);
        if (!_staging.NeedsHeaderBlock)
            Queue(scope, _errorWriter.Staging.Take(isEnd: false));
    }

    /// <summary>Sends what is queued for the web server's error log.</summary>
    public void SendErrors()
    {
        // The thread that has corked the response sends later, and includes what was queued before.
        if (!_cork.IsCorked)
            Outlet.FlushNow();
    }

    private void QueueHeld(RequestScope scope)
    {
        if (IsHolding)
            Queue(scope, TakeRecords(scope, isEnd: false).Head);
    }

    private BufferChain TakeRecords(RequestScope scope, bool isEnd)
    {
        _heldLength = NotHeld;
        return _staging.TakeRecords(request.Response, _errorWriter?.Staging, isEnd);
    }
}
