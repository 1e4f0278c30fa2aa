using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.UnitTests.Responses;

public sealed class OutputCorkTests
{
    private readonly Deadlines _deadlines = new();
    private readonly ResponseOutput _response = new FastCgiResponse(new ResponseOwnerStub()).Output;
    private OutputCork _cork;

    [Fact]
    public void Corked_HoldsAnyFlush_UntilTheHandlerYields()
    {
        _cork.Cork(sendsAtEnd: false);
        Assert.True(_cork.IsCorked);
        Assert.False(_cork.SendsAtEnd);
        Assert.True(TryHold(isLikelyLast: false));

        _cork.Yield();

        Assert.False(_cork.IsCorked);
        Assert.True(_cork.SendsAtEnd);
        Assert.False(TryHold(isLikelyLast: false));
    }

    [Fact]
    public void Uncorked_HoldsNothing_WhateverComesAfter()
    {
        _cork.Uncork();
        Assert.False(TryHold(isLikelyLast: true));

        _cork.Cork(sendsAtEnd: false);
        Assert.False(_cork.IsCorked);
        Assert.False(TryHold(isLikelyLast: true));

        _cork.Yield();
        Assert.False(TryHold(isLikelyLast: true));
        Assert.Equal(0, _deadlines.Count);
    }

    [Fact]
    public void Released_HoldsWhatIsLikelyTheLast_WithOneDeadline()
    {
        Assert.False(TryHold(isLikelyLast: false));
        Assert.True(TryHold(isLikelyLast: true));
        Assert.True(TryHold(isLikelyLast: true));
        Assert.Equal(1, _deadlines.Count);

        _cork.OnQueued();
        Assert.False(_cork.IsHolding);
        Assert.True(TryHold(isLikelyLast: true));
        Assert.Equal(2, _deadlines.Count);
    }

    [Fact]
    public void Begin_AfterAnything_IsReleased()
    {
        _cork.Uncork();

        _cork.Begin();

        Assert.True(TryHold(isLikelyLast: true));
    }

    private bool TryHold(bool isLikelyLast) => _cork.TryHold(isLikelyLast, _response, _deadlines);

    private sealed class Deadlines : CorkDeadlines
    {
        public int Count { get; private set; }

        public override bool TryAdd(ResponseOutput response, int generation)
        {
            Count++;
            return true;
        }
    }
}
