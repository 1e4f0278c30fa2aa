namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Which flush is sent at once, and which is held, and until when.</summary>
public sealed class ResponseOutputTests
{
    private readonly ResponseRig.CountedDeadlines _deadlines = new();
    private ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    private int SendCount => _rig.Transport.Sends.Count;

    [Fact]
    public async Task Flush_ThatIsCanceled_IsNotHeld()
    {
        BeginWithDeadlines();
        Response.Writer.CancelPendingFlush();

        Assert.True((await _rig.WriteAsync("hello")).IsCanceled);

        Assert.Equal(1, SendCount);
    }

    [Fact]
    public async Task Held_WhatIsWrittenThen_IsUnflushedUntilItIsSent()
    {
        BeginWithDeadlines();
        await _rig.WriteAsync("hello");
        _rig.Put("abc");
        Assert.Equal(3, Response.Writer.UnflushedBytes);

        Response.Output.Uncork();

        Assert.Equal((0L, "helloabc"), (Response.Writer.UnflushedBytes, _rig.Body));
    }

    [Fact]
    public async Task Cork_HoldsAllUntilTheYield_WhichQueuesForTheCaller()
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd: false);
        await Response.Writer.FlushAsync();
        await _rig.WriteAsync("hello");

        _rig.Outlet.FlushNow();
        Assert.Equal(0, SendCount);
        Response.Output.Yield();
        Assert.Equal(0, SendCount);
        _rig.Outlet.FlushNow();

        Assert.Equal((1, "hello"), (SendCount, _rig.Body));
        await _rig.WriteAsync("!");
        Assert.Equal(2, SendCount);
    }

    [Theory]
    [InlineData(true, true, 1)]
    [InlineData(false, true, 0)]
    [InlineData(true, false, 1)]
    [InlineData(false, false, 1)]
    public async Task Cork_EndOrCut_IsSentByItselfOrByTheCaller(bool sendsAtEnd, bool isEnd, int sends)
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd);
        await _rig.WriteAsync("hello");

        if (isEnd)
            Response.Finish();
        else
            Response.Cut();

        Assert.Equal(sends, SendCount);
        _rig.Outlet.FlushNow();
        Assert.Equal((1, "hello"), (SendCount, _rig.Body));
    }

    private void BeginWithDeadlines()
    {
        _rig = new() { Deadlines = _deadlines };
        _rig.Begin();
    }
}
