using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class OutputCorkTests
{
    private readonly ResponseRig.CountedDeadlines _deadlines = new();
    private OutputCork _cork;

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Corked_HoldsAnyFlush_UntilTheHandlerYields(bool sendsAtEnd)
    {
        _cork.Cork(sendsAtEnd);
        Assert.Equal((true, sendsAtEnd), (_cork.IsCorked, _cork.SendsAtEnd));
        Assert.True(CanHold(isLikelyLast: false));

        _cork.Yield();

        Assert.Equal((false, true), (_cork.IsCorked, _cork.SendsAtEnd));
        Assert.False(CanHold(isLikelyLast: false));
        Assert.Equal(0, _deadlines.Count);
    }

    [Fact]
    public void Uncorked_HoldsNothing_WhateverComesAfter()
    {
        _cork.Uncork();
        Assert.False(CanHold(isLikelyLast: true));

        _cork.Cork(sendsAtEnd: false);
        Assert.False(_cork.IsCorked);
        Assert.False(CanHold(isLikelyLast: true));

        _cork.Yield();
        Assert.False(CanHold(isLikelyLast: true));
        Assert.Equal(0, _deadlines.Count);
    }

    [Fact]
    public void Released_HoldsWhatIsLikelyTheLast_WithOneDeadline()
    {
        Assert.False(CanHold(isLikelyLast: false));
        Assert.Equal(0, _deadlines.Count);
        Assert.True(CanHold(isLikelyLast: true));
        Assert.Equal(1, _deadlines.Count);
        Assert.True(CanHold(isLikelyLast: true, isHolding: true));
        Assert.Equal(1, _deadlines.Count);
    }

    [Fact]
    public void Released_NobodyLooksAfterIt_HoldsNothing()
    {
        _deadlines.AreKept = false;

        Assert.False(CanHold(isLikelyLast: true));
        Assert.False(_cork.CanHold(isHolding: false, isLikelyLast: true, null!, trySetDeadline: null));
    }

    private bool CanHold(bool isLikelyLast, bool isHolding = false) => _cork.CanHold(isHolding, isLikelyLast, null!, _deadlines.TryAdd);
}
