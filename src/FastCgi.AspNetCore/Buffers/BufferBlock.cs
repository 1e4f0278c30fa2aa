using System.Buffers;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Buffers;

/// <summary>
/// A block of bytes and the range of it that is in use. Blocks form chains, and the system can send a chain with one call. A block has
/// one owner at a time.
/// </summary>
internal sealed class BufferBlock : IMemoryOwner<byte>
{
    private readonly byte[] _array;
    private readonly int _offset;

    /// <summary>Makes a block of a slab, which goes back to it when it is returned.</summary>
    internal BufferBlock(Slab slab, byte[] array, int offset, int length)
    {
        Slab = slab;
        _array = array;
        _offset = offset;
        Capacity = length;
        Address = Marshal.UnsafeAddrOfPinnedArrayElement(array, offset);
    }

    /// <summary>Makes a block that no pool owns, for sizes that are not pooled.</summary>
    internal BufferBlock(int length)
    {
        _array = GC.AllocateUninitializedArray<byte>(length, pinned: true);
        Capacity = length;
        Address = Marshal.UnsafeAddrOfPinnedArrayElement(_array, 0);
    }

    /// <summary>The slab the block was cut from; <see langword="null"/> for one that is simply collected.</summary>
    internal Slab? Slab { get; }

    /// <summary>Whether the block is out of its pool.</summary>
    internal bool IsRented { get; set; } = true;

    /// <summary>
    /// Whether the application may still write to the block: memory of it was handed out and not advanced. Then nobody else gets it: when it is
    /// returned, it is left to the garbage collector.
    /// </summary>
    public bool IsLeased { get; set; }

    /// <summary>The bytes of the block.</summary>
    public int Capacity { get; }

    /// <summary>Where the block lies in memory, for the system: it never moves.</summary>
    public nint Address { get; }

    /// <summary>Where the bytes in use begin.</summary>
    public int Start { get; set; }

    /// <summary>Where the bytes in use end.</summary>
    public int End { get; set; }

    /// <summary>The bytes in use.</summary>
    public int Length => End - Start;

    /// <summary>The bytes after those in use.</summary>
    public int FreeLength => Capacity - End;

    /// <summary>The next block of the chain.</summary>
    public BufferBlock? Next { get; set; }

    /// <summary>The whole block.</summary>
    public Memory<byte> Memory => _array.AsMemory(_offset, Capacity);

    /// <summary>The whole block.</summary>
    public Span<byte> Span => _array.AsSpan(_offset, Capacity);

    /// <summary>The bytes in use.</summary>
    public Span<byte> UsedSpan => _array.AsSpan(_offset + Start, Length);

    /// <summary>The bytes in use.</summary>
    public Memory<byte> UsedMemory => _array.AsMemory(_offset + Start, Length);

    /// <summary>The bytes in use, for APIs that take array segments.</summary>
    public ArraySegment<byte> UsedSegment => new(_array, _offset + Start, Length);

    /// <summary>The bytes after those in use.</summary>
    public Span<byte> FreeSpan => _array.AsSpan(_offset + End, FreeLength);

    /// <summary>The bytes after those in use.</summary>
    public Memory<byte> FreeMemory => _array.AsMemory(_offset + End, FreeLength);

    /// <summary>Copies bytes behind those in use. There must be room for them.</summary>
    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(FreeSpan);
        End += bytes.Length;
    }

    /// <summary>Returns the block to its pool, or leaves a leased one to the garbage collector. The server may not use it afterwards.</summary>
    /// <exception cref="InvalidOperationException">The block is in its pool already.</exception>
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

    /// <summary>Returns every block of the chain that begins with <paramref name="head"/>.</summary>
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
