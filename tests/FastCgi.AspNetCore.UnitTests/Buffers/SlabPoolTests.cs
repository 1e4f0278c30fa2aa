namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class SlabPoolTests
{
    private const int BlockSize = 64;
    private const int BlocksPerSlab = 4;
    private const int SlabSize = BlockSize * BlocksPerSlab;

    private readonly SlabPool _pool = new(BlockSize, BlocksPerSlab);

    [Fact]
    public void Rent_MoreThanASlab_AllocatesFurtherOnes()
    {
        Assert.Equal(0, _pool.AllocatedBytes);
        var block = _pool.Rent();
        Assert.Equal((BlockSize, BlockSize, true), (block.Capacity, block.Span.Length, block.IsRented));
        Rent(BlocksPerSlab - 1);
        Assert.Equal((SlabSize, BlocksPerSlab), (_pool.AllocatedBytes, _pool.RentedCount));

        Rent(1);
        Assert.Equal(2 * SlabSize, _pool.AllocatedBytes);
    }

    [Fact]
    public void Return_Block_IsEmptyAndWithoutSuccessor()
    {
        var blocks = Rent(2);
        blocks[0].Append("abc"u8);
        blocks[0].Start = 1;
        blocks[0].Next = blocks[1];

        blocks[0].Return();

        Assert.True(blocks[0] is { Start: 0, End: 0, Next: null, IsRented: false });
        Assert.True(blocks[1].IsRented);
    }

    [Fact]
    public void Return_Twice_Throws()
    {
        var block = Rent(1)[0];
        block.Return();

        Assert.Throws<InvalidOperationException>(block.Return);
        Assert.Throws<InvalidOperationException>(((IDisposable)block).Dispose);
        Assert.Equal(0, _pool.RentedCount);
        Assert.Equal(4, Rent(4).Distinct().Count());
    }

    [Fact]
    public void Trim_AllReturned_HalvesTheSlabsToOne()
    {
        var blocks = Rent(9 * BlocksPerSlab);
        ReturnAll(blocks.Where(static (_, i) => i % BlocksPerSlab != 0));
        _pool.Trim();
        // One block of every slab is out.
        Assert.Equal((9 * SlabSize, 9), (_pool.AllocatedBytes, _pool.RentedCount));
        Assert.All(blocks.Where(static (_, i) => i % BlocksPerSlab == 0), static block => Assert.True(block.IsRented));

        ReturnAll(blocks.Where(static (_, i) => i % BlocksPerSlab == 0));
        // Half of those beyond the first, rounded up.
        foreach (var slabs in new[] { 5, 3, 2, 1, 1 })
        {
            _pool.Trim();
            Assert.Equal(slabs * SlabSize, _pool.AllocatedBytes);
        }

        Assert.Equal(0, _pool.RentedCount);
    }

    [Fact]
    public void Trim_BlocksInSlots_CanBeRentedAfterwards()
    {
        ReturnAll(Rent(6 * BlocksPerSlab));
        _pool.Trim();

        var blocks = Rent(6 * BlocksPerSlab);

        Assert.Equal(blocks.Count, blocks.Distinct().Count());
        Assert.Equal(6 * BlocksPerSlab, _pool.RentedCount);
        Assert.Equal(6 * SlabSize, _pool.AllocatedBytes);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData(5)]
    public void Trim_OneSlabInUse_ItStaysAndOthersGo(int slab)
    {
        var blocks = Rent(6 * BlocksPerSlab);
        var kept = blocks[slab * BlocksPerSlab];
        ReturnAll(blocks.Where(block => block != kept));

        for (var i = 0; i < 10; i++)
            _pool.Trim();

        // Here no slab has to stay for the next request: one is in use.
        Assert.Equal(SlabSize, _pool.AllocatedBytes);
        Assert.Equal(1, _pool.RentedCount);
        kept.Return();
        Assert.Equal(0, _pool.RentedCount);
        _pool.Trim();
        var others = Rent(BlocksPerSlab - 1);
        Assert.All(others, block => Assert.Same(kept.Slab, block.Slab));
    }

    [Fact]
    public async Task RentReturnTrim_Concurrent_ABlockHasOneOwner()
    {
        const int Workers = 4;
        var isStolen = 0;

        await Task.WhenAll(Enumerable.Range(1, Workers).Select(worker => Task.Run(() =>
        {
            var random = new Random(worker);
            var mine = new Queue<BufferBlock>();
            for (var round = 0; round < 20_000; round++)
            {
                if (mine.Count < 12 && random.Next(2) == 0)
                {
                    var block = _pool.Rent();
                    block.Span.Fill((byte)worker);
                    mine.Enqueue(block);
                }
                else if (mine.TryDequeue(out var block))
                {
                    if (!block.IsRented || block.Span.ContainsAnyExcept((byte)worker))
                        Interlocked.Increment(ref isStolen);
                    block.Return();
                }
                else if (round % 64 == 0)
                {
                    _pool.Trim();
                }
            }

            ReturnAll(mine);
        })));

        Assert.Equal(0, isStolen);
        Assert.Equal(0, _pool.RentedCount);
        Assert.InRange(_pool.AllocatedBytes, SlabSize, (64 + (8 * Environment.ProcessorCount)) * SlabSize);
    }

    private List<BufferBlock> Rent(int count) => [.. Enumerable.Range(0, count).Select(_ => _pool.Rent())];

    private static void ReturnAll(IEnumerable<BufferBlock> blocks)
    {
        foreach (var block in blocks)
            block.Return();
    }
}
