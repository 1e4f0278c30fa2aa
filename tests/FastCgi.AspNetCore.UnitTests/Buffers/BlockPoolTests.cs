namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class BlockPoolTests
{
    private const int BlockSize = 64;

    private readonly BlockPool _pool = new(BlockSize);

    [Fact]
    public void Rent_NoneIsFree_AllocatesOne()
    {
        Assert.Equal(0, _pool.AllocatedBytes);
        var block = _pool.Rent();
        Assert.Equal((BlockSize, BlockSize, true), (block.Capacity, block.Span.Length, block.IsRented));
        Assert.Equal((BlockSize, 1), (_pool.AllocatedBytes, _pool.RentedCount));

        block.Return();
        Assert.Same(block, _pool.Rent());
        Rent(2);
        Assert.Equal((3 * BlockSize, 3), (_pool.AllocatedBytes, _pool.RentedCount));
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
        Assert.Equal(0, _pool.RentedCount);
        Assert.Equal(4, Rent(4).Distinct().Count());
    }

    [Fact]
    public void Trim_AllReturned_HalvesThem()
    {
        ReturnAll(Rent(36));

        // The first call counts the blocks, but does not know how long they have been free.
        foreach (var count in new[] { 36, 18, 9, 4, 2, 1, 0, 0 })
        {
            _pool.Trim();
            Assert.Equal((count * BlockSize, 0), (_pool.AllocatedBytes, _pool.RentedCount));
        }
    }

    [Fact]
    public void Trim_AllNeededBetweenTwoCalls_Stay()
    {
        for (var i = 0; i < 10; i++)
        {
            ReturnAll(Rent(36));
            _pool.Trim();
        }

        Assert.Equal(36 * BlockSize, _pool.AllocatedBytes);
    }

    [Fact]
    public void Trim_SomeNeededBetweenTwoCalls_OthersGo()
    {
        var rented = Rent(36);
        ReturnAll(rented.Skip(1));

        for (var i = 0; i < 10; i++)
        {
            ReturnAll(Rent(10));
            _pool.Trim();
        }

        Assert.Equal((11 * BlockSize, 1), (_pool.AllocatedBytes, _pool.RentedCount));
        Assert.True(rented[0].IsRented);
    }

    [Fact]
    public void Trim_BlocksInSlots_CanBeRentedAfterwards()
    {
        ReturnAll(Rent(24));
        _pool.Trim();

        var blocks = Rent(24);

        Assert.Equal(blocks.Count, blocks.Distinct().Count());
        Assert.Equal((24 * BlockSize, 24), (_pool.AllocatedBytes, _pool.RentedCount));
    }

    [Fact]
    public void Return_LeasedBlock_IsNotRentedAgain()
    {
        var leased = Rent(1)[0];
        leased.IsLeased = true;

        leased.Return();

        Assert.Equal((0, 0), (_pool.AllocatedBytes, _pool.RentedCount));
        Assert.NotSame(leased, _pool.Rent());
        Assert.Throws<InvalidOperationException>(leased.Return);
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
        Assert.InRange(_pool.AllocatedBytes, 0, 2 * Workers * 12 * BlockSize);
    }

    private List<BufferBlock> Rent(int count) => [.. Enumerable.Range(0, count).Select(_ => _pool.Rent())];

    private static void ReturnAll(IEnumerable<BufferBlock> blocks)
    {
        foreach (var block in blocks)
            block.Return();
    }
}
