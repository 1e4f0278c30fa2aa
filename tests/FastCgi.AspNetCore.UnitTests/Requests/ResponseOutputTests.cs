namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Which flush is sent at once, and which is held, and until when.</summary>
public sealed class ResponseOutputTests
{
    private readonly ResponseRig _rig = new() { Deadlines = new ResponseRig.KeptDeadlines() };

    private FastCgiResponse Response => _rig.Response;

    private int SendCount => _rig.Transport.Sends.Count;

    [Fact]
    public async Task Held_WhatIsWrittenThen_IsUnflushedUntilItIsSent()
    {
        _rig.Begin();
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
}
