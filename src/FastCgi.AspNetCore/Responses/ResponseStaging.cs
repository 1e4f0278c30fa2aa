using System.Diagnostics;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// What the application has written and not flushed: blocks that leave room for a record header in front, and in the first one
/// for the header block too, so that they become records in place. Not thread-safe. A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal struct ResponseStaging
{
    // Room in front of the first block for a usual header block; a longer one gets a block of its own.
    private const int HeadReserve = 512;
    private const int TrailerLength = ProtocolConstants.HeaderLength + RecordWriter.FixedRecordLength;
    private const int FarewellLength = ProtocolConstants.HeaderLength;

    /// <summary>The most bytes that are staged in one block, and become one record.</summary>
    public const int MaxLeaseLength = ProtocolConstants.MaxAlignedContentLength;

    private BufferPool _pool;
    private ushort _requestId;
    private BufferBlock? _first;
    private BufferBlock? _last;
    private byte[]? _scratch;
    private int _leasedLength;
    private bool _isLeaseUsed;

    /// <summary>Whether the header block is still to be written.</summary>
    public bool NeedsHeaderBlock { get; private set; }

    /// <summary>The bytes that are staged, the header block not counted.</summary>
    public int Length { get; private set; }

    /// <summary>Begins with another response.</summary>
    public void Begin(BufferPool pool, ushort requestId)
    {
        Debug.Assert(_first is null);
        _pool = pool;
        _requestId = requestId;
        NeedsHeaderBlock = true;
    }

    /// <summary>Memory to write to, of at least <paramref name="sizeHint"/> bytes.</summary>
    /// <param name="sizeHint">The bytes that are wanted; 0 for any.</param>
    /// <param name="isDropped">Whether what is written is of no interest any more.</param>
    public Memory<byte> Lease(int sizeHint, bool isDropped)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        sizeHint = Math.Max(sizeHint, 1);
        _isLeaseUsed = false;
        if (isDropped || sizeHint > MaxLeaseLength)
        {
            _scratch = new byte[Math.Max(sizeHint, BufferPool.SmallBlockSize)];
            _leasedLength = _scratch.Length;
            return _scratch;
        }

        _scratch = null;
        EnsureFree(sizeHint);
        _leasedLength = _last!.FreeLength;
        return _last.FreeMemory;
    }

    /// <summary>
    /// Ends the lease if it was advanced. One that was not stays, for its holder may be about to: a writer over the body that
    /// somebody else flushes.
    /// </summary>
    public void EndUsedLease()
    {
        if (_isLeaseUsed)
            EndLease();
    }

    /// <summary>Ends the lease: memory that was handed out may not be advanced any more.</summary>
    public void EndLease()
    {
        _scratch = null;
        _leasedLength = 0;
    }

    /// <summary>Checks that so many bytes can be advanced.</summary>
    public void CheckAdvance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        if (count > 0 && _leasedLength == 0)
            throw new InvalidOperationException("Invalid ordering of calling StartAsync or CompleteAsync and Advance.");

        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _leasedLength);
    }

    /// <summary>Stages bytes that were written to leased memory.</summary>
    public void Advance(int count)
    {
        if (_scratch is { } scratch)
        {
            EndLease();
            Append(scratch.AsSpan(0, count));
            return;
        }

        _isLeaseUsed = true;
        _leasedLength -= count;
        Length += count;
        if (count > 0)
            _last!.End += count;
    }

    /// <summary>Stages bytes.</summary>
    public void Append(ReadOnlySpan<byte> bytes)
    {
        EndLease();
        Length += bytes.Length;
        while (!bytes.IsEmpty)
        {
            EnsureFree(_last is null ? Math.Min(bytes.Length, MaxLeaseLength - HeadReserve) : 1);
            var count = Math.Min(bytes.Length, _last!.FreeLength);
            _last.Append(bytes[..count]);
            bytes = bytes[count..];
        }
    }

    /// <summary>Drops what is staged.</summary>
    public void Clear()
    {
        BufferBlock.ReturnChain(_first);
        _first = _last = null;
        Length = 0;
        EndLease();
    }

    /// <summary>Makes records of what is staged.</summary>
    /// <param name="response">Writes the header block, if that was not done before.</param>
    /// <param name="records">Where the records go.</param>
    /// <param name="errors">What goes to the web server's error log, behind the header block.</param>
    /// <param name="end">What END_REQUEST says if the response is complete, so that what ends it follows; else <see langword="null"/>.</param>
    /// <remarks>Behind the end there is room for one more record header, in the last block.</remarks>
    public void TakeRecords(FastCgiResponse response, ref BufferChain records, StandardErrorStaging? errors, ProtocolStatus? end)
    {
        if (NeedsHeaderBlock)
            PutHead(response, isEnd: end is not null);

        var errorRecords = errors?.Take(isEnd: end is not null);
        var block = _first;
        var leased = _leasedLength > 0 && _scratch is null ? _last : null;
        _first = _last = null;
        Length = 0;
        while (block is not null)
        {
            var next = block.Next;
            block.Next = null;
            if (block == leased)
                block = SplitLeased(block);

            if (block.Length == 0)
            {
                // An empty STDOUT record would end the stream.
                block.Return();
            }
            else
            {
                Frame(block);
                if (end is not null && errorRecords is null && next is null && block.FreeLength >= TrailerLength + FarewellLength)
                {
                    PutTrailer(block, end.Value);
                    end = null;
                }

                records.Append(block);
            }

            block = next;
        }

        records.Append(errorRecords);
        if (end is not null)
        {
            var trailer = _pool.RentBlock(TrailerLength + FarewellLength);
            PutTrailer(trailer, end.Value);
            records.Append(trailer);
        }
    }

    private void EnsureFree(int length)
    {
        if (_last is not null && _last.FreeLength >= length)
            return;

        var hasHeadRoom = NeedsHeaderBlock && _first is null && length <= BufferPool.LargeBlockSize - HeadReserve;
        var reserve = hasHeadRoom ? HeadReserve : ProtocolConstants.HeaderLength;
        // Whoever has filled a small block is likely to fill a large one.
        AppendBlock(_pool.RentBlock(_first is null ? reserve + length : BufferPool.LargeBlockSize), reserve);
    }

    private void AppendBlock(BufferBlock block, int start)
    {
        block.Start = block.End = start;
        if (_last is null)
            _first = block;
        else
            _last.Next = block;
        _last = block;
    }

    private void PutHead(FastCgiResponse response, bool isEnd)
    {
        var maxLength = response.GetMaxHeadLength();
        var contentLength = isEnd ? response.GetFinalContentLength(Length) : null;
        if (_first is { Start: HeadReserve } first && maxLength <= HeadReserve - ProtocolConstants.HeaderLength)
        {
            var length = response.WriteHead(first.Span[ProtocolConstants.HeaderLength..HeadReserve], contentLength);
            first.Start = HeadReserve - length;
            first.Span.Slice(ProtocolConstants.HeaderLength, length).CopyTo(first.UsedSpan);
            NeedsHeaderBlock = false;
            return;
        }

        var head = new byte[maxLength];
        var headLength = response.WriteHead(head, contentLength);
        NeedsHeaderBlock = false;
        PutBefore(head.AsSpan(0, headLength));
    }

    /// <summary>Puts a header block that does not fit the room in front of the body into blocks of its own.</summary>
    private void PutBefore(ReadOnlySpan<byte> head)
    {
        var body = _first;
        var bodyTail = _last;
        _first = _last = null;
        do
        {
            AppendBlock(_pool.RentBlock(Math.Min(ProtocolConstants.HeaderLength + head.Length, BufferPool.LargeBlockSize)), ProtocolConstants.HeaderLength);
            var count = Math.Min(head.Length, _last!.FreeLength);
            _last.Append(head[..count]);
            head = head[count..];
        }
        while (!head.IsEmpty);

        if (body is null)
            return;

        if (body == bodyTail && body.Length <= _last.FreeLength - TrailerLength - FarewellLength && _leasedLength == 0)
        {
            _last.Append(body.UsedSpan);
            body.Return();
            return;
        }

        _last.Next = body;
        _last = bodyTail;
    }

    private void Frame(BufferBlock block)
    {
        var contentLength = block.Length;
        block.Start -= ProtocolConstants.HeaderLength;
        RecordWriter.WriteHeader(block.UsedSpan, RecordType.Stdout, _requestId, contentLength);
    }

    /// <summary>The application is writing to the rest of this block: what is in it goes out as a copy.</summary>
    private BufferBlock SplitLeased(BufferBlock block)
    {
        var copy = _pool.RentBlock(ProtocolConstants.HeaderLength + block.Length);
        copy.Start = copy.End = ProtocolConstants.HeaderLength;
        copy.Append(block.UsedSpan);
        block.Start = block.End;
        _first = _last = block;
        return copy;
    }

    private void PutTrailer(BufferBlock block, ProtocolStatus status)
    {
        var start = block.End;
        block.End += TrailerLength;
        var trailer = block.Span[start..block.End];
        RecordWriter.WriteHeader(trailer, RecordType.Stdout, _requestId, contentLength: 0);
        RecordWriter.WriteEndRequest(trailer[ProtocolConstants.HeaderLength..], _requestId, appStatus: 0, status);
    }
}
