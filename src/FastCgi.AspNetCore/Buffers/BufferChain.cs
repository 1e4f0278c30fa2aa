namespace FastCgi.AspNetCore.Buffers;

/// <summary>The two ends of a chain of blocks, and the bytes in use in it. A mutable struct: keep it in a field, do not copy it.</summary>
internal struct BufferChain
{
    private long _capacity;

    /// <summary>The first block.</summary>
    public BufferBlock? Head { get; private set; }

    /// <summary>The last block.</summary>
    public BufferBlock? Tail { get; private set; }

    /// <summary>The bytes in use.</summary>
    public int Length { get; private set; }

    /// <summary>The memory that the chain holds: whole blocks, and the bytes in use of the last one, which is filled before another is rented.</summary>
    public readonly long HeldLength => Tail is null ? 0 : _capacity - Tail.Capacity + Tail.Length;

    /// <summary>Appends a block, or a chain of them.</summary>
    public void Append(BufferBlock? block)
    {
        if (block is null)
            return;

        if (Tail is null)
            Head = block;
        else
            Tail.Next = block;

        for (; ; block = block.Next)
        {
            Length += block.Length;
            _capacity += block.Capacity;
            Tail = block;
            if (block.Next is null)
                return;
        }
    }

    /// <summary>
    /// Appends the bytes of a chain of blocks, without a block that the bytes before have room for: what fits the last block is copied there,
    /// and a small block that follows a small one becomes part of a large one.
    /// </summary>
    public void AppendBytes(BufferPool pool, BufferBlock? block)
    {
        while (block is not null)
        {
            var next = block.Next;
            block.Next = null;
            if (Tail is null || (Math.Max(Tail.Capacity, block.Capacity) > BufferPool.SmallBlockSize && !HasRoom(block.Length)))
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

    /// <summary>Appends bytes that the caller writes: in the last block if they fit, in another otherwise.</summary>
    /// <returns>Where they are to be written.</returns>
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

    /// <summary>Takes the first block off.</summary>
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

    /// <summary>Takes all blocks off.</summary>
    public BufferBlock? Clear()
    {
        var head = Head;
        this = default;
        return head;
    }
}
