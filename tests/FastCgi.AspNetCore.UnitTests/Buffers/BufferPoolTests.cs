namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class BufferPoolTests
{
    private readonly BufferPool _pool = new();

    [Theory]
    [InlineData(-1, 4_096)]
    [InlineData(0, 4_096)]
    [InlineData(1, 4_096)]
    [InlineData(4_096, 4_096)]
    [InlineData(4_097, 65_536)]
    [InlineData(65_536, 65_536)]
    [InlineData(65_537, 65_537)]
    [InlineData(1_000_000, 1_000_000)]
    public void Rent_AnySize_BlockIsLargeEnough(int size, int capacity)
    {
        var block = _pool.RentBlock(size);

        Assert.Equal(capacity, block.Capacity);
        block.Return();
    }

    [Theory, Values(BufferPool.LargeBlockSize, BufferPool.SmallBlockSize)]
    public void Trim_UnusedBlocks_AreReleased(int size)
    {
        var blocks = Enumerable.Range(0, 100).Select(_ => _pool.RentBlock(size)).ToList();
        Assert.Equal(100 * size, _pool.AllocatedBytes);
        blocks.ForEach(static block => block.Return());

        for (var i = 0; i < 10; i++)
            _pool.Trim();

        Assert.Equal(0, _pool.AllocatedBytes);
    }

    /// <summary>The system reads and writes while the garbage collector works: no block may be moved.</summary>
    [Theory, Values(1, 10_000, 100_000)]
    public unsafe void Rent_Block_LiesWhereItSaysAndStaysThere(int size)
    {
        var block = _pool.RentBlock(size);
        Assert.Equal(GC.MaxGeneration, GC.GetGeneration(GetSegment(block).Array!));

        block.Span[0] = 123;
        block.Span[^1] = 45;

        Assert.Equal(123, *(byte*)block.Address);
        Assert.Equal(45, ((byte*)block.Address)[block.Capacity - 1]);
        Assert.Equal(
            block.Address, Marshal.UnsafeAddrOfPinnedArrayElement(GetSegment(block).Array!, GetSegment(block).Offset));
        block.Return();

        static ArraySegment<byte> GetSegment(BufferBlock block)
            => MemoryMarshal.TryGetArray<byte>(block.Memory, out var segment) ? segment : default;
    }
}
