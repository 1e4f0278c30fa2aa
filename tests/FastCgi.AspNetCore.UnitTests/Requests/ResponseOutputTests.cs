namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Which flush is sent at once, and which is held, and until when.</summary>
public sealed class ResponseOutputTests
{
    private readonly ResponseRig.CountedDeadlines _deadlines = new();
    private ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    private int SendCount => _rig.Transport.Sends.Count;

    [Fact]
    public async Task Lease_ThatWasUsed_EndsWithTheFlush()
    {
        _rig.Begin();
        await Response.StartAsync();
        var writer = Response.Writer;
        writer.GetSpan(100)[0] = (byte)'a';
        writer.Advance(1);

        await writer.FlushAsync();

        Assert.Throws<InvalidOperationException>(() => writer.Advance(1));
        Assert.Equal("a", _rig.Body);
    }

    /// <summary>The handler is not in its first call: only a flush that is likely the last is held.</summary>
    [Theory]
    [InlineData(null, "hello", false, true)]
    [InlineData(null, "", false, false)]
    [InlineData(null, "hello", true, false)]
    [InlineData(5L, "hello", true, true)]
    [InlineData(5L, "hell", false, false)]
    [InlineData(0L, "", false, true)]
    public async Task Flush_ThatIsLikelyTheLast_IsHeld(long? length, string text, bool disablesBuffering, bool isHeld)
    {
        BeginWithDeadlines();
        Response.Headers.ContentLength = length;
        if (disablesBuffering)
            Response.DisableBuffering();

        var flush = await _rig.WriteAsync(text);

        Assert.Equal((false, false), (flush.IsCompleted, flush.IsCanceled));
        Assert.Equal((isHeld ? 1 : 0, isHeld ? 0 : 1), (_deadlines.Count, SendCount));
        Assert.Equal(0, Response.Writer.UnflushedBytes);
    }

    [Fact]
    public async Task Flush_AfterTheHeaderBlock_IsNotHeld()
    {
        BeginWithDeadlines();
        await Response.Writer.FlushAsync();

        await _rig.WriteAsync("hello");

        Assert.Equal((0, 2), (_deadlines.Count, SendCount));
    }

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

    /// <summary>What was held before is sent, so that nobody looks after it any more.</summary>
    [Fact]
    public async Task Yield_ThenTheLastFlush_IsLookedAfterAnew()
    {
        BeginWithDeadlines();
        Response.Headers.ContentLength = 5;
        Response.Output.Cork(sendsAtEnd: false);
        await _rig.WriteAsync("hell");
        Response.Output.Yield();
        _rig.Outlet.FlushNow();
        Assert.Equal((0, 1), (_deadlines.Count, SendCount));

        await _rig.WriteAsync("o");

        Assert.Equal((1, 1), (_deadlines.Count, SendCount));
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

    /// <summary>The memory of short lines is that of their records, which may take one block more than the limit of their text.</summary>
    [Theory]
    [InlineData(9_000, false)]
    [InlineData(9_001, true)]
    public void ErrorLog_ManyShortLines_AreBoundByTheirRecords(int lines, bool isNoted)
    {
        _rig.Options.Limits.MaxStandardErrorSize = (9_000 * 10) - 65_536;
        _rig.Begin();
        var error = Response.OpenStandardError();
        Assert.Same(error, Response.OpenStandardError());

        for (var i = 0; i < lines + 5; i++)
        {
            if (i < lines || isNoted)
                error.Write("x\n");
        }

        Response.Finish();
        var sent = _rig.Transport.Records.Where(static record => record.Type == RecordBytes.Stderr).ToList();
        Assert.Equal(9_000, sent.Count(static record => record.Text == "x\n"));
        Assert.Equal(isNoted ? 1 : 0, sent.Count(static record => record.Text.Contains("MaxStandardErrorSize", StringComparison.Ordinal)));
        Assert.Empty(sent[^1].Content);
    }

    private void BeginWithDeadlines()
    {
        _rig = new() { Deadlines = _deadlines };
        _rig.Begin();
    }
}
