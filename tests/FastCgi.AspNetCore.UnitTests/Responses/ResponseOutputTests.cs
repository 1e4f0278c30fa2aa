using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>What a flush sends, and when: leases, the cork, and the web server's error log.</summary>
public sealed class ResponseOutputTests : IDisposable
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

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

    /// <summary>A writer over the body may be about to use it, while somebody else flushes.</summary>
    [Fact]
    public async Task Lease_ThatWasNotUsed_IsGoodBehindTheFlush()
    {
        _rig.Begin();
        await Response.StartAsync();
        var writer = Response.Writer;
        _rig.Put("first ");
        var memory = writer.GetMemory(100);
        await writer.FlushAsync();
        Assert.EndsWith("first ", _rig.Stdout, StringComparison.Ordinal);

        "second"u8.CopyTo(memory.Span);
        writer.Advance(6);
        Response.Finish();

        Assert.Equal("first second", _rig.Body);
        Assert.Equal(0, _rig.RentedCount);
    }

    /// <summary>One of more than a record has is memory of its own.</summary>
    [Fact]
    public void Lease_OfMuchThatWasNotUsed_IsOverWithTheNext()
    {
        _rig.Begin();
        Response.Writer.GetSpan(100_000).Fill((byte)'x');

        _rig.Put("a");
        Response.Finish();

        Assert.Equal("a", _rig.Body);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Lease_AtTheEnd_IsGivenBackWithIt(bool isCompleted)
    {
        _rig.Begin();
        await Response.StartAsync();
        _rig.Put("a");
        Response.Writer.GetMemory(100);

        if (isCompleted)
            await Response.CompleteAsync();
        else
            Response.Finish();

        Assert.Equal(("a", 0), (_rig.Body, _rig.RentedCount));
    }

    [Theory]
    [InlineData(999, true)]
    [InlineData(1_000, false)]
    public async Task Flush_OfAsMuchAsTheLimit_IsNotHeld(int length, bool isHeld)
    {
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines(), MaxBufferSize = 1_000 });

        await _rig.WriteAsync(length);

        Assert.Equal(isHeld ? 0 : 1, _rig.Transport.SendCount);
    }

    [Fact]
    public async Task Flush_ThatIsCanceled_IsNotHeld()
    {
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines() });
        Response.Writer.CancelPendingFlush();

        Assert.True((await _rig.WriteAsync("hello")).IsCanceled);

        Assert.Equal(1, _rig.Transport.SendCount);
    }

    [Fact]
    public async Task Cork_HoldsAllUntilTheYield_WhichQueuesForTheCaller()
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd: false);
        await Response.Writer.FlushAsync();
        await _rig.WriteAsync("hello");

        Response.Output.Yield(Response.Output.Generation + 1);
        _rig.Outlet.FlushNow();
        Assert.Equal(0, _rig.Transport.SendCount);
        Response.Output.Yield(Response.Output.Generation);
        Assert.Equal(0, _rig.Transport.SendCount);
        _rig.Outlet.FlushNow();

        Assert.Equal((1, "hello"), (_rig.Transport.SendCount, _rig.Body));
        await _rig.WriteAsync("!");
        Assert.Equal(2, _rig.Transport.SendCount);
    }

    /// <summary>What was held before is sent, so that nobody looks after it any more.</summary>
    [Fact]
    public async Task Yield_ThenTheLastFlush_IsLookedAfterAnew()
    {
        var deadlines = new ResponseRig.Deadlines();
        _rig.Begin(new ResponseSettings { Deadlines = deadlines });
        Response.Headers.ContentLength = 5;
        Response.Output.Cork(sendsAtEnd: false);
        await _rig.WriteAsync("hell");
        Response.Output.Yield(Response.Output.Generation);
        _rig.Outlet.FlushNow();
        Assert.Equal((0, 1), (deadlines.Count, _rig.Transport.SendCount));

        await _rig.WriteAsync("o");

        Assert.Equal((1, 1), (deadlines.Count, _rig.Transport.SendCount));
    }

    [Fact]
    public async Task Uncork_SendsWhatIsHeldAndFromThenOnEachFlush()
    {
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines() });
        Response.Output.Cork(sendsAtEnd: false);
        await _rig.WriteAsync("hello");

        Response.Output.Uncork(Response.Output.Generation + 1);
        Assert.Equal(0, _rig.Transport.SendCount);
        Response.Output.Uncork(Response.Output.Generation);
        Assert.Equal(1, _rig.Transport.SendCount);
        await _rig.WriteAsync("!");
        Assert.Equal((2, "hello!"), (_rig.Transport.SendCount, _rig.Body));

        Response.Finish();
        _rig.Close();
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines() });
        await _rig.WriteAsync("held again");
        Assert.Empty(_rig.Layout);
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
            Assert.Equal(sends == 1, Response.Finish());
        else
            Response.Cut();

        Assert.Equal(sends, _rig.Transport.SendCount);
        _rig.Outlet.FlushNow();
        Assert.Equal((1, "hello"), (_rig.Transport.SendCount, _rig.Body));
    }

    [Fact]
    public async Task ErrorLog_BehindTheHeaderBlock_IsSentAtOnceUnlessCorked()
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd: false);
        await Response.Writer.FlushAsync();
        Response.Output.Yield(Response.Output.Generation);
        var error = Response.OpenStandardError();
        Assert.Same(error, Response.OpenStandardError());

        error.WriteLine("first");

        Assert.Equal("O18 E6", _rig.Layout);
        error.Write("half");
        Response.Finish();
        Assert.Equal("O18 E6 E5 E0 O0 End8", _rig.Layout);
        error.WriteLine("late");
        _rig.Outlet.FlushNow();
        Assert.Equal("O18 E6 E5 E0 O0 End8", _rig.Layout);
        _rig.Close();
        Assert.Throws<ObjectDisposedException>(() => error.Write('x'));
        Assert.Equal(0, _rig.RentedCount);
    }

    [Fact]
    public async Task ErrorLog_WhileCorked_WaitsForTheCaller()
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd: false);
        var error = Response.OpenStandardError();
        await Response.Writer.FlushAsync();
        using (_rig.Outlet.EnterLock())
            _rig.Outlet.WriteEndRequest(9, appStatus: 0, default);
        error.WriteLine("a line");
        Assert.Equal(0, _rig.Transport.SendCount);

        Response.Output.Yield(Response.Output.Generation);
        _rig.Outlet.FlushNow();

        Assert.Equal("End8 O18 E7", _rig.Layout);
    }

    [Fact]
    public void ErrorLog_OfADroppedResponse_IsGivenBack()
    {
        _rig.Begin();
        var error = Response.OpenStandardError();
        error.WriteLine("before");
        _rig.Drop();
        error.WriteLine("behind");

        _rig.Close();

        Assert.Equal(0, _rig.RentedCount);
        _rig.Begin();
        Assert.NotSame(error, Response.OpenStandardError());
        Response.Finish();
        Assert.Equal("O37 O0 End8", _rig.Layout);
    }

    [Theory]
    [InlineData(null, 12)]
    [InlineData(12L, 12)]
    [InlineData(9L, 9)]
    [InlineData(6L, 6)]
    [InlineData(0L, 0)]
    public void ErrorLog_Limit_IsOfAllLinesTogether(long? limit, int length)
    {
        _rig.Begin(new ResponseSettings { MaxStandardErrorSize = limit });
        var error = Response.OpenStandardError();

        error.Write("lines\nlines\n");
        Response.Finish();

        var sent = _rig.Transport.Records.Where(static record => record.Type == RecordBytes.Stderr).ToList();
        Assert.Equal(length, sent.Sum(static record => record.Content.Length));
        Assert.Equal(length > 0, sent.Count > 0 && sent[^1].Content.Length == 0);
    }
}
