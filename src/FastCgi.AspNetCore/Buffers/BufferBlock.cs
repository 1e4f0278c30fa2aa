namespace FastCgi.AspNetCore.Buffers;

/// <summary>A buffer and its used range. A single system call sends a chain. A block has one owner at a time.</summary>
/// <param name="pool">The pool of the block; <see langword="null"/> for a block that is not pooled.</param>
internal sealed class BufferBlock(int capacity, BlockPool? pool = null)
{
    private readonly byte[] _array = GC.AllocateUninitializedArray<byte>(capacity, pinned: true);

    internal bool IsRented { get; set; } = true;

    /// <summary>Whether the application may still write to the block. If so, it is not pooled again.</summary>
    public bool IsLeased { get; set; }
    public int Capacity => _array.Length;

    public nint Address => Marshal.UnsafeAddrOfPinnedArrayElement(_array, 0);
    public int Start { get; set; }
    public int End { get; set; }
    public int Length => End - Start;
    public int FreeLength => Capacity - End;
    public BufferBlock? Next { get; set; }
    public Memory<byte> Memory => _array;
    public Span<byte> Span => _array;
    public Span<byte> UsedSpan => _array.AsSpan(Start, Length);
    public Span<byte> FreeSpan => _array.AsSpan(End);
    public Memory<byte> FreeMemory => _array.AsMemory(End);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(FreeSpan);
        End += bytes.Length;
    }

    /// <summary>Returns the block to its pool, or leaves a leased one to the garbage collector.</summary>
    /// <exception cref="InvalidOperationException">The block is already in its pool.</exception>
    public void Return()
    {
        if (pool is null)
            return;

        // In release builds too: with two owners, bytes of one request would appear in another.
        if (!IsRented)
            throw new InvalidOperationException("The block was returned twice.");

        Next = null;
        Start = 0;
        End = 0;
        if (IsLeased)
            pool.Abandon(this);
        else
            pool.Return(this);
    }

    public static void ReturnChain(BufferBlock? head)
    {
        while (head is not null)
        {
            var next = head.Next;
            head.Return();
            head = next;
        }
    }
}
