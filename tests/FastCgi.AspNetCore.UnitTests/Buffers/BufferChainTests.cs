namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class BufferChainTests
{
    private BufferChain _chain;

    [Fact]
    public void Append_Block_RangesFollowEachOther()
    {
        var block = new BufferBlock(8);
        block.Append("abc"u8);
        block.Append("de"u8);
        block.Start = 1;

        Assert.Equal("bcde"u8, block.UsedSpan);
        Assert.Equal(4, block.Length);
        Assert.Equal(3, block.FreeLength);
        Assert.Equal(3, block.FreeSpan.Length);
        Assert.Equal(3, block.FreeMemory.Length);
    }

    [Fact]
    public void Append_BlocksAndChains_InOrderWithTheirLengths()
    {
        var (a, b, c) = (Block("a"u8), Block("bb"u8), Block("ccc"u8));
        b.Next = c;
        _chain.Append(null);
        AssertEmpty();

        _chain.Append(a);
        _chain.Append(b);

        Assert.Same(a, _chain.Head);
        Assert.Same(b, a.Next);
        Assert.Same(c, _chain.Tail);
        Assert.Equal(6, _chain.Length);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void RemoveFirstOrClear_Chain_IsHandedOver(bool isCleared)
    {
        var (a, b) = (Block("a"u8), Block("bb"u8));
        _chain.Append(a);
        _chain.Append(b);

        if (isCleared)
        {
            Assert.Same(a, _chain.Clear());
            Assert.Same(b, a.Next);
            Assert.Null(_chain.Clear());
        }
        else
        {
            Assert.Same(a, _chain.RemoveFirst());
            Assert.Null(a.Next);
            Assert.Equal(2, _chain.Length);
            Assert.Same(b, _chain.RemoveFirst());
        }

        AssertEmpty();
        _chain.Append(b);
        Assert.Same(b, _chain.Tail);
    }

    /// <summary>The memory of whole blocks, but for the last one, which is filled before another is rented.</summary>
    [Fact]
    public void HeldLength_AnyChange_IsThatOfTheBlocksThatAreThere()
    {
        Assert.Equal(0, _chain.HeldLength);
        _chain.Append(Block("a"u8));
        Assert.Equal(1, _chain.HeldLength);
        _chain.Append(Block("bb"u8));
        Assert.Equal(8 + 2, _chain.HeldLength);

        using var pool = new BufferPool();
        _chain.Write(pool, 6).Clear();
        Assert.Equal(8 + 8, _chain.HeldLength);
        _chain.Write(pool, 1).Clear();
        Assert.Equal(8 + 8 + 1, _chain.HeldLength);
        Assert.Equal(1 + 8 + 1, _chain.Length);

        _chain.RemoveFirst();
        Assert.Equal(8 + 1, _chain.HeldLength);
        BufferBlock.ReturnChain(_chain.Clear());
        Assert.Equal((0, 0), (_chain.HeldLength, pool.RentedCount));
    }

    /// <summary>What fits is copied; a small block that does not fit becomes part of a large one; a large one stays what it is.</summary>
    [Theory]
    [InlineData("100 200", "300/4096")]
    [InlineData("4000 96", "4096/4096")]
    [InlineData("4000 97", "4000/4096 97/65536")]
    [InlineData("4000 97 4096 50000", "4000/4096 54193/65536")]
    [InlineData("4000 5000", "4000/4096 5000/65536")]
    [InlineData("5000 60536", "65536/65536")]
    [InlineData("5000 60537", "5000/65536 60537/65536")]
    [InlineData("5000 60537 4096 4096", "5000/65536 64633/65536 4096/4096")]
    public void AppendBytes_OfAChain_TakesNoBlockThatTheBytesBeforeHaveRoomFor(string lengths, string blocks)
    {
        using var pool = new BufferPool();
        var added = new BufferChain();
        byte number = 0;
        foreach (var length in lengths.Split(' ').Select(int.Parse))
        {
            var block = pool.RentBlock(length);
            block.FreeSpan[..length].Fill(++number);
            block.End = length;
            added.Append(block);
        }

        _chain.AppendBytes(pool, added.Clear());

        var bytes = new List<byte>();
        var seen = new List<string>();
        for (var block = _chain.Head; block is not null; block = block.Next)
        {
            bytes.AddRange(block.UsedSpan);
            seen.Add($"{block.Length}/{block.Capacity}");
        }

        Assert.Equal(blocks, string.Join(' ', seen));
        Assert.Equal((bytes.Count, seen.Count), (_chain.Length, pool.RentedCount));
        Assert.Equal(bytes.Order(), bytes);
        Assert.Equal(lengths.Split(' '), bytes.CountBy(static one => one).Select(static count => $"{count.Value}"));
        BufferBlock.ReturnChain(_chain.Clear());
    }

    /// <summary>The application still writes to it.</summary>
    [Fact]
    public void AppendBytes_AfterALeasedBlock_TakesAnother()
    {
        using var pool = new BufferPool();
        var leased = pool.RentBlock(100);
        leased.IsLeased = true;
        _chain.Append(leased);

        _chain.AppendBytes(pool, pool.RentBlock(1));
        Assert.NotSame(leased, _chain.Tail);
        _chain.Write(pool, 1);

        Assert.Equal(0, leased.Length);
        BufferBlock.ReturnChain(_chain.Clear());
        Assert.Equal(0, pool.RentedCount);
    }

    [Fact]
    public void ReturnChain_BlocksOfTwoPools_AllGoBack()
    {
        var (small, large) = (new SlabPool(16, 4), new SlabPool(64, 4));
        _chain.Append(small.Rent());
        _chain.Append(large.Rent());
        _chain.Append(new BufferBlock(5));
        _chain.Append(small.Rent());

        BufferBlock.ReturnChain(_chain.Clear());
        BufferBlock.ReturnChain(null);

        Assert.Equal(0, small.RentedCount);
        Assert.Equal(0, large.RentedCount);
    }

    private void AssertEmpty() => Assert.Equal((null, null, 0), (_chain.Head, _chain.Tail, _chain.Length));

    private static BufferBlock Block(ReadOnlySpan<byte> bytes)
    {
        var block = new BufferBlock(8);
        block.Append(bytes);
        return block;
    }
}
