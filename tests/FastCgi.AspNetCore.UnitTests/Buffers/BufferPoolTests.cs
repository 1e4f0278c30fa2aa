using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class BufferPoolTests : IDisposable
{
    private readonly BufferPool _pool = new();

    public void Dispose() => _pool.Dispose();

    [Theory]
    [InlineData(-1, 4_096)]
    [InlineData(0, 4_096)]
    [InlineData(1, 4_096)]
    [InlineData(4_096, 4_096)]
    [InlineData(4_097, 65_536)]
    [InlineData(65_536, 65_536)]
    [InlineData(65_537, 65_537)]
    [InlineData(1_000_000, 1_000_000)]
    public void Rent_AnySize_BlockThatHoldsIt(int size, int capacity)
    {
        using var owner = _pool.Rent(size);

        Assert.Equal(capacity, owner.Memory.Length);
    }

    [Fact]
    public void LargeBlockSize_IsAHeaderAndTheLargestAlignedContent() => Assert.Equal(8 + 65_528, BufferPool.LargeBlockSize);

    [Fact]
    public void RentedCount_PooledSizesOnly()
    {
        var small = _pool.RentBlock(10);
        var large = _pool.RentBlock(10_000);
        var huge = _pool.RentBlock(100_000);
        Assert.Equal(2, _pool.RentedCount);

        small.Return();
        large.Return();
        huge.Return();
        Assert.Equal(0, _pool.RentedCount);
    }

    [Fact]
    public void Trim_UnusedSlabs_AreLetGoOf()
    {
        var blocks = Enumerable.Range(0, 100).Select(_ => _pool.RentBlock(BufferPool.LargeBlockSize)).ToList();
        var peak = _pool.AllocatedBytes;
        blocks.ForEach(static block => block.Return());

        for (var i = 0; i < 10; i++)
            _pool.Trim();

        Assert.True(peak >= 100 * BufferPool.LargeBlockSize);
        Assert.Equal(8 * BufferPool.LargeBlockSize, _pool.AllocatedBytes);
    }

    [Fact]
    public void Trim_SmallBlocks_AreLetGoOfToo()
    {
        var blocks = Enumerable.Range(0, 320).Select(_ => _pool.RentBlock(1)).ToList();
        Assert.Equal(10 * 32 * BufferPool.SmallBlockSize, _pool.AllocatedBytes);
        blocks.ForEach(static block => block.Return());

        for (var i = 0; i < 10; i++)
            _pool.Trim();

        Assert.Equal(32 * BufferPool.SmallBlockSize, _pool.AllocatedBytes);
    }

    /// <summary>The system reads and writes while the garbage collector works: no block may be moved.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(10_000)]
    [InlineData(100_000)]
    public unsafe void Rent_Block_LiesWhereItSaysAndStaysThere(int size)
    {
        var block = _pool.RentBlock(size);
        Assert.Equal(GC.MaxGeneration, GC.GetGeneration(GetSegment(block).Array!));

        block.Span[0] = 123;
        block.Span[^1] = 45;

        Assert.Equal(123, *(byte*)block.Address);
        Assert.Equal(45, ((byte*)block.Address)[block.Capacity - 1]);
        Assert.Equal(block.Address, Marshal.UnsafeAddrOfPinnedArrayElement(GetSegment(block).Array!, GetSegment(block).Offset));
        block.Return();

        static ArraySegment<byte> GetSegment(BufferBlock block) => MemoryMarshal.TryGetArray<byte>(block.Memory, out var segment) ? segment : default;
    }

    /// <summary>A pool of memory may be disposed as its owner likes: what is out can still be returned.</summary>
    [Fact]
    public void MaxBufferSize_AnySize() => Assert.Equal(int.MaxValue, _pool.MaxBufferSize);
}
