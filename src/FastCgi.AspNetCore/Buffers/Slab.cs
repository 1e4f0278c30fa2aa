using System.Diagnostics;

namespace FastCgi.AspNetCore.Buffers;

/// <summary>A large array on the pinned object heap, and the blocks cut from it. Guarded by the lock of its pool.</summary>
internal sealed class Slab
{
    private readonly BufferBlock[] _free;
    private int _freeCount;
    private int _blockCount;

    public Slab(SlabPool pool, int blockSize, int blockCount)
    {
        Pool = pool;
        _free = new BufferBlock[blockCount];
        _blockCount = blockCount;
        var array = GC.AllocateUninitializedArray<byte>(blockSize * blockCount, pinned: true);
        for (var i = blockCount - 1; i >= 0; i--)
            Push(new BufferBlock(this, array, i * blockSize, blockSize) { IsRented = false });
    }

    public SlabPool Pool { get; }
    public bool IsEmpty => _freeCount == 0;
    public bool IsWhole => _freeCount == _blockCount;

    /// <summary>The block will not return: its memory belongs to the application until it is collected.</summary>
    public void Abandon() => _blockCount--;

    public BufferBlock Pop() => _free[--_freeCount];

    public void Push(BufferBlock block)
    {
        Debug.Assert(block.Slab == this || block.Slab is null);
        _free[_freeCount++] = block;
    }
}
