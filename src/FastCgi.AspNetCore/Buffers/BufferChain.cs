namespace FastCgi.AspNetCore.Buffers;

/// <summary>A chain of blocks. A mutable struct: keep it in a field, do not copy it.</summary>
internal struct BufferChain
{
    private long _capacity;

    public BufferBlock? Head { get; private set; }
    public BufferBlock? Tail { get; private set; }
    public long Length { get; private set; }

    /// <summary>The capacity of all blocks; of the last one, which is filled further, only the used part.</summary>
    public readonly long HeldLength => Tail is null ? 0 : _capacity - Tail.Capacity + Tail.Length;

    public void Append(BufferBlock? block)
    {
        if (Tail is null)
            Head = block;
        else
            Tail.Next = block;

        for (; block is not null; block = block.Next)
        {
            Length += block.Length;
            _capacity += block.Capacity;
            Tail = block;
        }
    }

    /// <summary>Copies as much as fits into the last block, and merges small blocks into a large one.</summary>
    public void AppendBytes(BufferPool pool, BufferBlock? block)
    {
        while (block is not null)
        {
            var next = block.Next;
            block.Next = null;
            if (Tail is null
                || (Math.Max(Tail.Capacity, block.Capacity) > BufferPool.SmallBlockSize && !HasRoom(block.Length)))
            {
                Append(block);
            }
            else
            {
                if (!HasRoom(block.Length))
                    Append(pool.RentBlock(BufferPool.LargeBlockSize));
                Tail.Append(block.UsedSpan);
                Length += block.Length;
                block.Return();
            }

            block = next;
        }
    }

    /// <returns>The memory for the bytes, which the caller writes.</returns>
    public Span<byte> Write(BufferPool pool, int length)
    {
        if (!HasRoom(length))
            Append(pool.RentBlock(length));

        Tail!.End += length;
        Length += length;
        return Tail.UsedSpan[^length..];
    }

    // The application may still write to the rest of a leased block.
    private readonly bool HasRoom(int length) => Tail is { IsLeased: false } tail && tail.FreeLength >= length;

    public BufferBlock RemoveFirst()
    {
        var first = Head!;
        Head = first.Next;
        if (Head is null)
            Tail = null;
        first.Next = null;
        Length -= first.Length;
        _capacity -= first.Capacity;
        return first;
    }

    public BufferBlock? Clear()
    {
        var head = Head;
        this = default;
        return head;
    }
}
