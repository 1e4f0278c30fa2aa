namespace FastCgi.AspNetCore.UnitTests.Buffers;

public sealed class BufferChainTests
{
    private BufferChain _chain;

    /// <summary>The memory of whole blocks, but for the last one, which is filled before another is rented.</summary>
    [Fact]
    public void HeldLength_AnyChange_IsTheSumOfTheBlocks()
    {
        Assert.Equal(0, _chain.HeldLength);
        _chain.Append(Block("a"u8));
        Assert.Equal(1, _chain.HeldLength);
        _chain.Append(Block("bb"u8));
        Assert.Equal(8 + 2, _chain.HeldLength);

        var pool = new BufferPool();
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

    /// <summary>The limits of what is queued have 64 bits.</summary>
    [Fact]
    public void Length_OfMoreThanTwoGibibytes_DoesNotOverflow()
    {
        _chain.Append(new BufferBlock(8) { End = int.MaxValue });
        _chain.Append(new BufferBlock(8) { End = int.MaxValue });

        Assert.Equal(2L * int.MaxValue, _chain.Length);
        _chain.RemoveFirst();
        Assert.Equal(int.MaxValue, _chain.Length);
    }

    /// <summary>Bytes that fit are copied, a small block joins a large one, and a large one is kept.</summary>
    [Theory]
    [InlineData("100 200", "300/4096")]
    [InlineData("4000 96", "4096/4096")]
    [InlineData("4000 97", "4000/4096 97/65536")]
    [InlineData("4000 97 4096 50000", "4000/4096 54193/65536")]
    [InlineData("4000 5000", "4000/4096 5000/65536")]
    [InlineData("5000 60536", "65536/65536")]
    [InlineData("5000 60537", "5000/65536 60537/65536")]
    [InlineData("5000 60537 4096 4096", "5000/65536 64633/65536 4096/4096")]
    public void AppendBytes_Chain_FillsTheLastBlockFirst(string lengths, string blocks)
    {
        var pool = new BufferPool();
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
        var pool = new BufferPool();
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

    private static BufferBlock Block(ReadOnlySpan<byte> bytes)
    {
        var block = new BufferBlock(8);
        block.Append(bytes);
        return block;
    }
}
