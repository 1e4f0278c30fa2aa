namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A connection that must close does so however its last request ends, but not during a send.</summary>
public sealed class ConnectionEndTests
{
    [Theory]
    [InlineData(0, 1, 2)]
    [InlineData(0, 2, 1)]
    [InlineData(1, 0, 2)]
    [InlineData(1, 2, 0)]
    [InlineData(2, 0, 1)]
    [InlineData(2, 1, 0)]
    public async Task Connections_ClosedInAnyOrder_OnlyTheOpenOneIsAborted(params int[] order)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnds = order.Select(_ => server.Connect()).ToArray();

        frontEnds[order[0]].Close();
        frontEnds[order[1]].Close();
        // Reported twice, as by an engine whose receive and send both fail.
        frontEnds[order[1]].Close();
        Assert.Equal(1, server.Connections.Count);
        await server.StopAsync(new CancellationToken(canceled: true));

        await server.Logs.SingleAsync("ConnectionAborted");
        Assert.Equal([order[2]], Enumerable.Range(0, 3).Where(i => frontEnds[i].Transport.IsReset));
    }

    /// <summary>The engine may have received it before it performs the reset.</summary>
    [Fact]
    public Task Reset_ARequestArrivesAfterwards_ApplicationIsNotCalled() => Script.PlayAsync("fail get/never reset");

    [Fact]
    public Task Leaving_ARefusedRoleArrives_ConnectionClosedAfterTheRefusal() => Script.PlayAsync(
        "get 200 12s CheckInput begin3 end=3 HalfClose",
        static limits => limits.KeepAliveTimeout = TimeSpan.FromSeconds(10));

    [Fact]
    public async Task End_WhileAResponseIsSent_Waits()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static context => context.Response.Body.WriteAsync(Apps.Pattern(100_000)).AsTask(),
            static options => options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(10));
        await frontEnd.AskAsync();
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(12));
        var connection = frontEnd.Transport.Connection;

        // A request comes before the engine has carried out the close, and the peer does not take the answer at once.
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(CloseAction.None, connection.DecideClose());
        frontEnd.Transport.ReleaseSend(continues: false);
        Assert.Equal(Apps.Pattern(100_000), (await frontEnd.ReadResponseAsync()).Body);
    }

    /// <summary>A connection idle for too long is closed unless bytes arrive, which may be no request.</summary>
    [Fact]
    public async Task KeepAliveTimeout_InputIsNoRequest_CloseIsRetriedAtEachTick()
    {
        var (tick, limit) = (TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(30));
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, options => options.Limits.KeepAliveTimeout = limit);
        var (clock, decisions) = (frontEnd.Server.Clock, frontEnd.Transport.Decisions);
        // Just before a tick, so the connection must stay open at the tick that is less than the limit later.
        clock.Advance(0.9 * tick);
        await frontEnd.AskAsync();

        clock.Advance(limit - (0.9 * tick));
        Assert.Empty(decisions);
        clock.Advance(tick);
        Assert.Equal([CloseAction.CheckInput], decisions);
        frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0));
        frontEnd.ReadAvailable();
        clock.Advance(tick);
        Assert.Equal([CloseAction.CheckInput, CloseAction.CheckInput], decisions);

        // A late request is answered, and then the connection is closed.
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
        Assert.Equal([CloseAction.CheckInput, CloseAction.CheckInput, CloseAction.Close], decisions);
    }

    [Fact]
    public async Task Http_InSeveralReceivesBeforeTheAnswerIsSent_IsAnsweredAndNotReset()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        var ready = new ReadyRequests();

        foreach (var part in new[] { "GET / HTTP/1.1\r\nCookie: aaaa", "aaaa\r\nHost: h\r\n", "POST\r\n" })
            Assert.True(frontEnd.Transport.Connection.OnReceived(Encoding.ASCII.GetBytes(part), ref ready));
        frontEnd.Server.Scheduler.Run(ref ready, frontEnd.Transport.Connection.Output);

        Assert.False(frontEnd.Transport.IsReset);
        Assert.True(frontEnd.Transport.IsClosed);
        var answer = Encoding.ASCII.GetString(frontEnd.Transport.Sent);
        Assert.StartsWith("HTTP/1.1 400", answer);
        Assert.Equal(
            answer.LastIndexOf("HTTP/1.1", StringComparison.Ordinal),
            answer.IndexOf("HTTP/1.1", StringComparison.Ordinal));
    }

    /// <summary>64 MiB after the response, and one byte more.</summary>
    [Fact]
    public Task Drain_MoreThanTheBound_Reset() => Script.PlayAsync(
        "begin.last+params 200 " + string.Concat(Enumerable.Repeat("stdin65535:2 ", 1_023))
            + "stdin58367:2 unreset byte reset");
}
