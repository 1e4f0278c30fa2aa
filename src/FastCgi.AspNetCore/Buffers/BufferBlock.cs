namespace FastCgi.AspNetCore.Buffers;

/// <summary>A buffer and its used range. Blocks form chains, which a single system call can send. A block has one owner at a time.</summary>
internal sealed class BufferBlock : IMemoryOwner<byte>
{
    private readonly byte[] _array;
    private readonly int _offset;

    internal BufferBlock(Slab slab, byte[] array, int offset, int length)
    {
        Slab = slab;
        _array = array;
        _offset = offset;
        Capacity = length;
        Address = Marshal.UnsafeAddrOfPinnedArrayElement(array, offset);
    }

    internal BufferBlock(int length)
    {
        _array = GC.AllocateUninitializedArray<byte>(length, pinned: true);
        Capacity = length;
        Address = Marshal.UnsafeAddrOfPinnedArrayElement(_array, 0);
    }

    /// <summary>The slab that contains the block; <see langword="null"/> for a block that is not pooled.</summary>
    internal Slab? Slab { get; }
    internal bool IsRented { get; set; } = true;

    /// <summary>Whether the application may still write to the block. On return, a leased block is left to the garbage collector.</summary>
    public bool IsLeased { get; set; }
    public int Capacity { get; }

    /// <summary>Pinned, for system calls.</summary>
    public nint Address { get; }
    public int Start { get; set; }
    public int End { get; set; }
    public int Length => End - Start;
    public int FreeLength => Capacity - End;
    public BufferBlock? Next { get; set; }
    public Memory<byte> Memory => _array.AsMemory(_offset, Capacity);
    public Span<byte> Span => _array.AsSpan(_offset, Capacity);
    public ReadOnlyMemory<byte> UsedMemory => _array.AsMemory(_offset + Start, Length);
    public Span<byte> UsedSpan => _array.AsSpan(_offset + Start, Length);
    public Span<byte> FreeSpan => _array.AsSpan(_offset + End, FreeLength);
    public Memory<byte> FreeMemory => _array.AsMemory(_offset + End, FreeLength);

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(FreeSpan);
        End += bytes.Length;
    }

    /// <summary>Returns the block to its pool, or leaves a leased one to the garbage collector.</summary>
    /// <exception cref="InvalidOperationException">The block is already in its pool.</exception>
    public void Return()
    {
        if (Slab is null)
            return;

        // In release builds too: with two owners, the bytes of one request would show up in another.
        if (!IsRented)
            throw new InvalidOperationException("The block was returned twice.");

        Next = null;
        Start = 0;
        End = 0;
        if (IsLeased)
            Slab.Pool.Abandon(this);
        else
            Slab.Pool.Return(this);
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

    void IDisposable.Dispose() => Return();
}
