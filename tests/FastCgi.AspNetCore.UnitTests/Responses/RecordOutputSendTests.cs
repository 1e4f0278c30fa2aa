using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>One send after another: whose turn it is, how much was sent, and whether a send goes on.</summary>
public sealed class RecordOutputSendTests : IDisposable
{
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(10);

    private readonly ResponseRig _rig = new();

    public RecordOutputSendTests() => _rig.Transport.Holds = true;

    private RecordOutput Outlet => _rig.Outlet;

    public void Dispose() => _rig.Dispose();

    [Fact]
    public void Line_OfThoseThatWriteAgain_KeepsTheirPlaces()
    {
        Occupy();
        var responses = Enumerable.Range(1, 3).Select(Begin).ToArray();

        foreach (var number in new[] { 1, 2, 1, 3, 2 })
            _ = responses[number - 1].Writer.WriteAsync(new byte[1]).AsTask();
        Complete();

        Assert.Equal([1, 1, 2, 2, 3], _rig.Transport.Records.Skip(1).Select(static record => record.Id));
    }

    [Fact]
    public void Line_FlushOfNothing_IsNoPlaceInIt()
    {
        var (first, second) = (BeginAndWriteHead(1), BeginAndWriteHead(2));
        Complete();
        Complete();
        Occupy();
        var sent = _rig.Transport.Records.Count;

        _ = first.Writer.FlushAsync().AsTask();
        Assert.False(first.Output.IsQueued);
        _ = second.Writer.WriteAsync(new byte[1]).AsTask();
        _ = first.Writer.WriteAsync(new byte[1]).AsTask();
        Complete();

        Assert.Equal([2, 1], _rig.Transport.Records.Skip(sent).Select(static record => record.Id));
    }

    [Fact]
    public void SentLength_IsWhatTheTransportWasGiven()
    {
        Occupy();
        Assert.Equal(16, Sent());
        Occupy();
        Assert.Equal(16, Sent());

        Complete();

        Assert.Equal(32, Sent());
    }

    [Fact]
    public void Abandon_WithRecordsOfNoResponse_GivesTheirBlocksBack()
    {
        Occupy();
        Complete();
        using (Outlet.EnterLock())
            Outlet.WriteEndRequest(1, appStatus: 0, default);
        Assert.Equal(1, _rig.RentedCount);

        Outlet.Abandon();

        Assert.Equal(0, _rig.RentedCount);
        Assert.True(Outlet.IsClosed);
    }

    [Theory]
    [InlineData("nothing", 10, true)]
    [InlineData("nothing", 9, false)]
    [InlineData("progress", 10, false)]
    [InlineData("next send", 10, false)]
    [InlineData("next send and progress", 10, false)]
    [InlineData("end", 10, false)]
    public void Send_ThatDoesNotGoOn_IsOverdueAtTheLimit(string what, int seconds, bool isOverdue)
    {
        Occupy();
        if (what.StartsWith("next", StringComparison.Ordinal))
            Occupy();
        Assert.False(IsOverdue(0, s_limit));

        if (what is not ("nothing" or "progress"))
            Complete();
        if (what.EndsWith("progress", StringComparison.Ordinal))
            Outlet.OnSendProgress();

        Assert.Equal(isOverdue, IsOverdue(seconds, s_limit));
        Assert.Equal(isOverdue, IsOverdue(seconds, s_limit));
        Assert.False(IsOverdue(seconds, limit: null));
        Assert.Equal(what != "end", IsOverdue(seconds + 10, s_limit));
    }

    /// <summary>The limit begins with the look that saw the last step.</summary>
    [Fact]
    public void Send_ThatGoesOnFromTimeToTime_IsNeverOverdue()
    {
        Occupy();

        for (var look = 0; look < 5; look++)
        {
            Outlet.OnSendProgress();
            Assert.False(IsOverdue(9 * look, s_limit));
            Assert.False(IsOverdue(9 * look + 8, s_limit));
        }
    }

    /// <summary>Neither an abort nor an end of those behind it lets it wait for somebody else's bytes.</summary>
    [Fact]
    public async Task Flush_OfAUseLongAgo_DoesNotWaitForAnyLaterOne()
    {
        var settings = new ResponseSettings { MaxBufferSize = 1_000 };
        _rig.Begin(settings);
        var flush = FlushLarge();
        _rig.Drop();
        _rig.Close();
        Complete();
        _rig.Begin(settings);
        _rig.Response.Finish();
        Complete();
        _rig.Close();
        Occupy();
        _rig.Begin(settings);
        Assert.False(_rig.WriteAsync(2_000).AsTask().IsCompleted);

        var send = _rig.Response.Output.SendAsync(flush, CancellationToken.None).AsTask();
        Assert.True(send.IsCompletedSuccessfully);
        Assert.Equal((false, false), ((await send).IsCanceled, (await send).IsCompleted));
    }

    [Fact]
    public async Task Drain_OfSeveralSends_WaitsOnceForAll()
    {
        _rig.Begin();
        await _rig.Response.StartAsync();
        _ = _rig.WriteAsync(10 * 65_528).AsTask();
        Assert.False(_rig.Response.Finish());
        var drain = _rig.Response.Output.DrainAsync().AsTask();
        Assert.True(_rig.Response.Output.IsFlushWaiting);

        Complete();
        Assert.True(_rig.Response.Output.IsFlushWaiting);
        Complete();

        await drain.Within("the drain");
        Assert.False(_rig.Response.Output.IsFlushWaiting);
    }

    /// <summary>Less than the limit is left, but whoever waits for all of it shares the wait.</summary>
    [Fact]
    public async Task Drain_WhileAFlushWaitsToo_IsForAllThatIsLeft()
    {
        _rig.Begin(new ResponseSettings { MaxBufferSize = 1_000 });
        _ = _rig.Response.Writer.FlushAsync().AsTask();
        var write = _rig.WriteAsync(4 * 65_528 + 500).AsTask();
        _rig.Response.Finish();
        var drain = _rig.Response.Output.DrainAsync().AsTask();

        Complete();
        Assert.False(write.IsCompleted);
        Complete();

        await Task.WhenAll(write, drain).Within("both");
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Wait_OfAResponseThatIsGone_EndsAsCompleted(bool isConnectionGone)
    {
        _rig.Begin(new ResponseSettings { MaxBufferSize = 1_000 });
        Occupy();
        var write = _rig.WriteAsync(2_000).AsTask();
        Assert.False(write.IsCompleted);

        if (isConnectionGone)
            Outlet.Abandon();
        else
            _rig.Drop();

        var result = await write.Within("the write");
        Assert.Equal((false, true), (result.IsCanceled, result.IsCompleted));
    }

    [Fact]
    public async Task Write_BehindTheEndOfTheConnection_KeepsNothing()
    {
        _rig.Begin();
        Outlet.Abandon();

        Assert.True((await _rig.WriteAsync(10)).IsCompleted);

        Assert.Equal((0, false), (_rig.RentedCount, _rig.Response.Output.IsQueued));
        _rig.Drop();
        _rig.Close();
        Assert.Empty(_rig.Layout);
    }

    [Fact]
    public async Task Wait_OfSeveral_EndsForAllOfThem()
    {
        _rig.Begin(new ResponseSettings { MaxBufferSize = 1_000 });
        Occupy();
        var first = _rig.WriteAsync(2_000).AsTask();
        var second = _rig.WriteAsync(2_000).AsTask();
        using var canceled = new CancellationTokenSource();
        var third = _rig.Response.Writer.WriteAsync(new byte[1], canceled.Token).AsTask();
        Assert.False(first.IsCompleted || second.IsCompleted || third.IsCompleted);
        await canceled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => third);

        _rig.Response.Finish();
        var drain = Task.WhenAll(_rig.Response.Output.DrainAsync().AsTask(), _rig.Response.Output.DrainAsync().AsTask());
        Complete();

        await Task.WhenAll(first, second, drain).Within("all that wait");
        Assert.Equal((false, false), ((await first).IsCanceled, (await second).IsCompleted));
    }

    [Fact]
    public async Task Cancel_OfTheFlushThatWaits_AndElseOfTheNextOneOnly()
    {
        _rig.Begin(new ResponseSettings { MaxBufferSize = 1_000 });
        Occupy();
        var waiting = _rig.WriteAsync(2_000).AsTask();
        _rig.Response.Writer.CancelPendingFlush();
        var result = await waiting.Within("the flush");
        Assert.Equal((true, false), (result.IsCanceled, result.IsCompleted));

        _rig.Response.Writer.CancelPendingFlush();
        result = await _rig.WriteAsync(2_000).AsTask().Within("the next flush");
        Assert.Equal((true, false), (result.IsCanceled, result.IsCompleted));
        Assert.False(_rig.WriteAsync(2_000).AsTask().IsCompleted);

        Complete();
        result = await _rig.WriteAsync(1);
        Assert.Equal((false, false), (result.IsCanceled, result.IsCompleted));
        Outlet.Abandon();
        result = await _rig.WriteAsync(1);
        Assert.Equal((false, true), (result.IsCanceled, result.IsCompleted));
    }

    [Fact]
    public async Task Cancel_OfAResponseThatIsOver_IsNotOfTheNext()
    {
        _rig.Transport.Holds = false;
        _rig.Begin();
        await _rig.Response.CompleteAsync();
        _rig.Response.Writer.CancelPendingFlush();
        _rig.Close();

        _rig.Begin();
        Assert.False((await _rig.WriteAsync(1)).IsCanceled);
    }

    private bool IsOverdue(int second, TimeSpan? limit)
    {
        using (Outlet.EnterLock())
            return Outlet.IsSendOverdue(TimeProvider.System, TimeProvider.System.TimestampFrequency * second, limit);
    }

    private long Sent()
    {
        using (Outlet.EnterLock())
            return Outlet.SentLength;
    }

    private void Complete() => _rig.Transport.Complete();

    /// <summary>Queues one record of no response, which is sent if nothing is being sent.</summary>
    private void Occupy()
    {
        using (Outlet.EnterLock())
            Outlet.WriteEndRequest(99, appStatus: 0, default);
        Outlet.FlushNow();
    }

    private ResponseOutput.PendingFlush FlushLarge()
    {
        using (_rig.Response.Output.EnterLock())
        {
            _rig.Response.Output.Write(new byte[2_000]);
            return _rig.Response.Output.Flush(isLikelyLast: false);
        }
    }

    private FastCgiResponse Begin(int id)
    {
        var response = new FastCgiResponse(new ResponseOwnerStub());
        response.Begin(Outlet, (ushort)id, new ResponseSettings(), isHead: false, isAuthorizer: false);
        return response;
    }

    private FastCgiResponse BeginAndWriteHead(int id)
    {
        var response = Begin(id);
        _ = response.Writer.FlushAsync().AsTask();
        return response;
    }
}
