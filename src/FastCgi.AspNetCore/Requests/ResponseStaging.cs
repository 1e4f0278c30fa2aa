namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The part of a response that the lock of its connection guards, with the written bytes that are not flushed. The
/// blocks leave room for a record header, and the first one for the header block, so they become records in place. A
/// mutable struct: do not copy it.
/// </summary>
internal struct ResponseStaging(FastCgiRequest request)
{
    // Room before the first block for a usual header block. A longer one gets separate blocks.
    private const int HeadReserve = 512;
    private const int LengthReserve = 40;
    // Room after the last record for the end of the request.
    private const int EndReserve = (2 * ProtocolConstants.HeaderLength) + RecordWriter.FixedRecordLength;

    /// <summary>The maximum length of one block, which becomes one record.</summary>
    public const int MaxLeaseLength = ProtocolConstants.MaxAlignedContentLength;

    public const int NoPosition = -1;
    private const long NotHeld = -1;

    // The holder of leased memory, which may be writing: a thread with a span, by its id, or one of these. Unlike a
    // Memory<byte>, a span cannot be kept, and IBufferWriter forbids its use after the thread's next call.
    private const int NoHolder = 0;
    private const int AnyHolder = -1;
    private const int SeveralHolders = -2;

    private BufferChain _blocks;

    // The lease: the end of this array or, if there is none, of the last block.
    private byte[]? _scratch;
    private int _leasedLength;

    // The holder of memory that was not advanced over. Unless it is NoHolder, the last block must not be pooled again.
    private int _leaseHolder;
    // The length of the held flush within the staged bytes.
    private long _flushedLength = NotHeld;

    // Where the header block gets a Content-Length if the response ends before it is taken.
    private int _lengthPosition = NoPosition;

    public long BytesWritten;

    /// <summary>The Content-Length that was sent, after the start.</summary>
    public long? DeclaredLength;
    public StandardErrorWriter? ErrorWriter;

    /// <summary>Whether the response may have a body; true until it starts.</summary>
    public bool CanWriteBody { get; set; } = true;

    public bool NeedsHeaderBlock { get; private set; } = true;

    public long Length { get; private set; }

    /// <summary>The staged bytes that follow a held flush, if any.</summary>
    public readonly long UnflushedLength => Length - Math.Max(_flushedLength, 0);

    public readonly long HeldLength => _blocks.HeldLength;
    public readonly bool IsFlushHeld => _flushedLength != NotHeld;

    /// <param name="isSpan">Whether the application gets a span of the memory.</param>
    public Memory<byte> Lease(int sizeHint, bool isSpan)
    {
        EndSpan();
        EndLease();
        if (_leaseHolder != NoHolder)
            _leaseHolder = SeveralHolders;
        else
            _leaseHolder = isSpan ? Environment.CurrentManagedThreadId : AnyHolder;
        sizeHint = Math.Max(sizeHint, 1);
        if (request.IsDetached || sizeHint > MaxLeaseLength)
        {
            _scratch = ArrayPool<byte>.Shared.Rent(Math.Max(sizeHint, BufferPool.SmallBlockSize));
            _leasedLength = _scratch.Length;
            return _scratch;
        }

        var block = GetBlock(sizeHint);
        block.IsLeased = true;
        _leasedLength = block.FreeLength;
        return block.FreeMemory;
    }

    /// <summary>Ends an advanced lease. Otherwise, its holder may still advance: a writer that others flush.</summary>
    public void EndUsedLease()
    {
        if (_leaseHolder == NoHolder)
            EndLease();
    }

    /// <summary>Ends the lease: its memory can no longer be advanced.</summary>
    public void EndLease()
    {
        if (_scratch is not null && _leaseHolder == NoHolder)
            ArrayPool<byte>.Shared.Return(_scratch);
        _scratch = null;
        _leasedLength = 0;
    }

    /// <summary>Ends a span, because its thread has called again or returned: the block is reusable.</summary>
    public void EndSpan()
    {
        if (_leaseHolder != Environment.CurrentManagedThreadId)
            return;

        _leaseHolder = NoHolder;
        if (_blocks.Tail is { } tail)
            tail.IsLeased = false;
    }

    public readonly void CheckAdvance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        if (count > 0 && _leasedLength == 0)
            throw new InvalidOperationException("Invalid ordering of calling StartAsync or CompleteAsync and Advance.");

        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _leasedLength);
    }

    public void Advance(int count)
    {
        if (request.IsDetached || _leasedLength == 0)
            return;

        var start = (_scratch?.Length ?? 0) - _leasedLength;
        _leasedLength -= count;
        // A thread that advances while another has a span may not mean that span.
        var isOwn = _leaseHolder is NoHolder or AnyHolder || _leaseHolder == Environment.CurrentManagedThreadId;
        _leaseHolder = isOwn ? NoHolder : SeveralHolders;
        Length += count;
        if (_scratch is not null)
        {
            Copy(_scratch.AsSpan(start, count));
            return;
        }

        var block = _blocks.Tail!;
        block.IsLeased = _leaseHolder != NoHolder;
        block.End += count;
    }

    public void Append(ReadOnlySpan<byte> bytes)
    {
        if (request.IsDetached)
            return;

        EndSpan();
        Length += bytes.Length;
        Copy(bytes);
        EndLease();
    }

    public void HoldFlush() => _flushedLength = Length;

    /// <summary>Drops the staged bytes: another response replaces them, or the response is over.</summary>
    public void Clear()
    {
        _flushedLength = NotHeld;
        BufferBlock.ReturnChain(_blocks.Clear());
        Length = 0;
        EndLease();
        _leaseHolder = NoHolder;
    }

    /// <summary>Puts the header block before the body.</summary>
    /// <param name="lengthPosition">Where it gets a Content-Length if the response ends before it is sent.</param>
    /// <param name="nextLength">The length of the part of the body that follows at once.</param>
    public void PutHead(ReadOnlySpan<byte> head, int lengthPosition, bool isEnd, long nextLength)
    {
        // In a head of several blocks it comes first, except for an authorizer, whose status must.
        var isLong = head.Length > BufferPool.LargeBlockSize - ProtocolConstants.HeaderLength - LengthReserve;
        if (isLong && lengthPosition != NoPosition)
            lengthPosition = request.Role == FastCgiRole.Authorizer ? NoPosition : 0;
        _lengthPosition = lengthPosition;
        var lineLength = isEnd ? CgiResponseWriter.WriteLength(stackalloc byte[LengthReserve], Length) : LengthReserve;
        var room = ProtocolConstants.HeaderLength + (lengthPosition == NoPosition ? 0 : lineLength);
        var fits = room + head.Length <= HeadReserve;
        if (fits && _blocks.Head is null)
            GetBlock((int)Math.Clamp(nextLength, 1, MaxLeaseLength - HeadReserve));
        if (fits && _blocks.Head is { Start: HeadReserve } first)
        {
            first.Start -= head.Length;
            head.CopyTo(first.UsedSpan);
        }
        else
        {
            PutBefore(head, room);
        }
    }

    /// <summary>Removes the staged bytes as records, and the lines for the error log.</summary>
    /// <returns>The records; the first contains the header block, if it was not taken before.</returns>
    public BufferBlock? TakeRecords(bool isEnd)
    {
        if (NeedsHeaderBlock && _lengthPosition != NoPosition && isEnd)
            InsertLength();
        NeedsHeaderBlock = false;
        _flushedLength = NotHeld;
        var records = new BufferChain();
        var leased = _leasedLength > 0 && _scratch is null ? _blocks.Tail : null;
        var block = _blocks.Clear();
        Length = 0;
        while (block is not null)
        {
            var next = block.Next;
            block.Next = null;
            if (block == leased || block is { IsLeased: true, Length: > 0 })
                block = CopyLeased(block, isInUse: block == leased);

            if (block.Length == 0)
            {
                // An empty STDOUT record would end the stream.
                block.Return();
            }
            else
            {
                block.Start -= ProtocolConstants.HeaderLength;
                RecordWriter.WriteHeader(
                    block.UsedSpan, RecordType.Stdout, request.Id, block.Length - ProtocolConstants.HeaderLength);
                records.Append(block);
            }

            block = next;
        }

        records.Append(ErrorWriter?.TakeRecords(isEnd));
        return records.Head;
    }

    private void Copy(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            var block = GetBlock(_blocks.Tail is null ? Math.Min(bytes.Length, MaxLeaseLength - HeadReserve) : 1);
            var count = Math.Min(bytes.Length, block.FreeLength);
            block.Append(bytes[..count]);
            bytes = bytes[count..];
        }
    }

    private BufferBlock GetBlock(int length)
    {
        if (_blocks.Tail is { } tail && tail.FreeLength >= length)
            return tail;

        var hasHeadRoom = NeedsHeaderBlock && _blocks.Tail is null && length <= BufferPool.LargeBlockSize - HeadReserve;
        return AddBlock(hasHeadRoom ? HeadReserve : ProtocolConstants.HeaderLength, length);
    }

    private BufferBlock AddBlock(int reserve, int length)
    {
        // A response that fills a small block is likely to fill a large one.
        var block = request.Connection.Output.Pool.RentBlock(
            _blocks.Tail is null ? reserve + length : BufferPool.LargeBlockSize);
        block.Start = block.End = reserve;
        _blocks.Append(block);
        return block;
    }

    private void PutBefore(ReadOnlySpan<byte> head, int room)
    {
        var body = _blocks.Clear();
        AddBlock(room, Math.Min(head.Length, BufferPool.LargeBlockSize - room));
        Copy(head);
        if (body is { Next: null } && body.Length <= _blocks.Tail!.FreeLength - EndReserve && _leasedLength == 0)
        {
            _blocks.Tail.Append(body.UsedSpan);
            body.Return();
            return;
        }

        _blocks.Append(body);
    }

    private void InsertLength()
    {
        Span<byte> line = stackalloc byte[LengthReserve];
        line = line[..CgiResponseWriter.WriteLength(line, Length)];
        var first = _blocks.Head!;
        first.Start -= line.Length;
        request.Response.HeadLength += line.Length;
        var head = first.UsedSpan;
        head.Slice(line.Length, _lengthPosition).CopyTo(head);
        line.CopyTo(head[_lengthPosition..]);
    }

    /// <summary>Copies the content to send: the application may write anywhere in the block, even later.</summary>
    private BufferBlock CopyLeased(BufferBlock block, bool isInUse)
    {
        var copy = request.Connection.Output.Pool.RentBlock(ProtocolConstants.HeaderLength + block.Length);
        copy.Start = copy.End = ProtocolConstants.HeaderLength;
        copy.Append(block.UsedSpan);
        if (isInUse)
        {
            block.Start = block.End;
            _blocks.Append(block);
        }
        else
        {
            block.Return();
        }

        return copy;
    }
}
