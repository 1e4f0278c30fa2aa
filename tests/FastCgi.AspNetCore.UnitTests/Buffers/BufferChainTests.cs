using FastCgi.AspNetCore.Buffers;

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
        Assert.Equal("bcde"u8, block.UsedMemory.Span);
        Assert.Equal("bcde"u8, block.UsedSegment.AsSpan());
        Assert.Equal(4, block.Length);
        Assert.Equal(3, block.FreeLength);
        Assert.Equal(3, block.FreeSpan.Length);
        Assert.Equal(3, block.FreeMemory.Length);
    }

    [Fact]
    public void Append_Null_StaysEmpty()
    {
        _chain.Append(null);

        Assert.Null(_chain.Head);
        Assert.Null(_chain.Tail);
        Assert.Equal(0, _chain.Length);
    }

    [Fact]
    public void Append_BlocksAndChains_InOrderWithTheirLengths()
    {
        var (a, b, c) = (Block("a"u8), Block("bb"u8), Block("ccc"u8));
        b.Next = c;

        _chain.Append(a);
        _chain.Append(b);

        Assert.Same(a, _chain.Head);
        Assert.Same(b, a.Next);
        Assert.Same(c, _chain.Tail);
        Assert.Equal(6, _chain.Length);
    }

    [Fact]
    public void RemoveFirst_UntilEmpty_BlocksComeSingly()
    {
        var (a, b) = (Block("a"u8), Block("bb"u8));
        _chain.Append(a);
        _chain.Append(b);

        Assert.Same(a, _chain.RemoveFirst());
        Assert.Null(a.Next);
        Assert.Equal(2, _chain.Length);
        Assert.Same(b, _chain.RemoveFirst());
        Assert.Null(_chain.Head);
        Assert.Null(_chain.Tail);
        Assert.Equal(0, _chain.Length);

        _chain.Append(a);
        Assert.Same(a, _chain.Tail);
    }

    [Fact]
    public void Clear_Chain_IsHandedOver()
    {
        var (a, b) = (Block("a"u8), Block("bb"u8));
        _chain.Append(a);
        _chain.Append(b);

        Assert.Same(a, _chain.Clear());
        Assert.Same(b, a.Next);
        Assert.Null(_chain.Head);
        Assert.Equal(0, _chain.Length);
        Assert.Null(_chain.Clear());
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

    private static BufferBlock Block(ReadOnlySpan<byte> bytes)
    {
        var block = new BufferBlock(8);
        block.Append(bytes);
        return block;
    }
}
