namespace FastCgi.AspNetCore.InMemoryTests;

public class TimeoutTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);

    [Fact]
    [Contract("G4")]
    public Task PARAMS_NotCompleteInTime_408AndConnectionClosed() => Script.PlayAsync(
        "begin 9s silent 1s 408 closed", static limits => limits.RequestParametersTimeout = TimeSpan.FromSeconds(10));

    [Theory]
    // No request begins.
    [InlineData("29s open 1s ended")]
    [InlineData("get<4 29s open 1s ended")]
    [InlineData("begin<12 29s open 1s ended")]
    [InlineData("values 29s open 1s ended")]
    [InlineData("type77:0 29s open 1s ended")]
    // A header that claims 60,000 bytes, and now and then one of them.
    [InlineData("values60000<9 29s byte unreset 1s reset")]
    [InlineData("get 200 1h values60000<9 29s byte unreset 1s reset")]
    // A request runs.
    [InlineData("get/slow values100<9 1m unreset go 200")]
    public Task Connection_WithAnUnfinishedRecordOrNone_EndsInTheTimeOfParams(string script)
        => Script.PlayAsync(script);

    /// <summary>It would be closed if there were nothing to receive first.</summary>
    [Fact]
    public Task Connection_OnWhichNoRequestBeginsAndSomethingAlwaysComes_ResetInTwiceTheTime()
        => Script.PlayAsync(string.Concat(Enumerable.Repeat("values 1s ", 59)) + "unreset 1s reset");

    /// <summary>Web servers keep connections for hours, and decide what to do between two requests.</summary>
    [Theory]
    [Contract("G3")]
    [InlineData("get 200 5h open get 200")]
    [InlineData("get 200 get<4 5h open get>4 200")]
    [InlineData("get 200 values skip 5h open get 200")]
    [InlineData("get 200 type77:0 skip 5h open get 200")]
    [InlineData("get* 200 1m unreset get:2* 2:200 1m unreset")]
    [InlineData("get* 200 values8* skip 1m unreset get:2* 2:200 values8* skip 1m unreset")]
    public Task Connection_ThatHasCarriedARequest_StaysOpen(string script) => Script.PlayAsync(script);

    [Fact]
    public Task KeepAliveTimeout_WhileARequestRuns_ConnectionStaysOpen() => Script.PlayAsync(
        "get/slow 5m open go 200", static limits => limits.KeepAliveTimeout = TimeSpan.FromSeconds(5));

    /// <summary>Without the end of STDIN, there may be more to come.</summary>
    [Fact]
    [Contract("E9", "T13")]
    public Task LingerTimeout_PeerKeepsTheConnectionOpen_Reset()
        => Script.PlayAsync("begin.last+params 200 4s unreset 1s reset");

    /// <summary>Results of GET_VALUES are not responses, but the peer does not receive them either.</summary>
    [Fact]
    public Task SendTimeout_OfAnAnswerOfManagement_ResetToo() => Script.PlayAsync(
        "get 200 hold values 2m unreset 1s reset",
        static limits => limits.SendTimeout = new FastCgiServerLimits().SendTimeout);

    public static TheoryData<string, int> Pieces => Rows.Cross(
        ["unused", "used", "used together", "past its keep-alive timeout", "stopping"], Enumerable.Range(1, 15));

    /// <summary>The time of a record begins with its first byte, however long the connection was idle before.</summary>
    [Theory, MemberData(nameof(Pieces))]
    public async Task BEGIN_REQUEST_InTwoPiecesAroundATick_IsServed(string connection, int split)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static context => context.Request.Path == "/wait" ? Apps.UntilAborted(context) : Apps.Hello(context),
            options => options.Limits.KeepAliveTimeout =
                connection == "past its keep-alive timeout" ? TimeSpan.FromSeconds(20) : null);
        if (connection != "unused")
            await frontEnd.AskAsync();
        if (connection == "used together")
            frontEnd.Send(RecordBytes.Get(2, "/wait"));
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(connection switch
        {
            "unused" => 29,
            "used" or "used together" => 31,
            _ => 19,
        }));

        var request = RecordBytes.Get();
        frontEnd.Send(request[..split]);
        var stop = connection == "stopping" ? frontEnd.Server.StopAsync() : Task.CompletedTask;
        if (connection == "used together")
        {
            frontEnd.Send(request[split..16], RecordBytes.Abort(2), request[16..20]);
            Assert.Equal(2, (await frontEnd.ReadRecordAsync()).Id);
            split = 20;
        }

        frontEnd.Server.Clock.Advance(2 * s_tick);
        frontEnd.Send(request[split..]);

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        frontEnd.Close();
        await stop.Within("the stop");
    }

    [Theory, Values(true, false)]
    public async Task SendTimeout_SomethingReceivedOccasionally_SendContinues(bool isWholeSend)
    {
        await using var frontEnd = await StartWithDefaultAsync(
            static context => context.Response.Body.WriteAsync(new byte[2_000_000]).AsTask());
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());

        for (var i = 0; i < 5; i++)
        {
            var sends = i + 1;
            await frontEnd.Transport.WaitUntilAsync(
                () => !isWholeSend || frontEnd.Transport.SendCount >= sends, "the next send");
            frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(100));
            if (isWholeSend)
                frontEnd.Transport.ReleaseSend();
            else
                frontEnd.Transport.Connection.Output.OnSendProgress();
        }

        Assert.False(frontEnd.Transport.IsReset);
    }

    /// <summary>They all share the connection, and none of them can be answered.</summary>
    [Fact]
    public async Task SendTimeout_OfOneAmongOthers_AllAreAbortedAndOtherConnectionsContinue()
    {
        var aborted = new System.Collections.Concurrent.ConcurrentQueue<string>();
        await using var stuck = await StartWithDefaultAsync(async context =>
        {
            var path = context.Request.Path.Value!;
            context.RequestAborted.Register(() => aborted.Enqueue(path));
            switch (context.Request.Path)
            {
                case "/large":
                    await context.Response.Body.WriteAsync(new byte[2_000_000]);
                    break;
                case "/flushed":
                    await context.Response.Body.FlushAsync();
                    await Apps.UntilAborted(context);
                    break;
                case "/paused":
                    await Apps.UntilAborted(context);
                    break;
                default:
                    await Apps.Hello(context);
                    break;
            }
        });
        var other = stuck.Server.Connect();
        stuck.Transport.HoldSends();
        stuck.Send(RecordBytes.Get(1, "/large"), RecordBytes.Get(2, "/flushed"), RecordBytes.Get(3, "/paused"));
        await other.AskAsync();

        stuck.Server.Clock.Advance(s_tick);
        stuck.Server.Clock.Advance(TimeSpan.FromSeconds(119));
        Assert.False(stuck.Transport.IsReset);
        stuck.Server.Clock.Advance(s_tick);

        Assert.True(stuck.Transport.IsReset);
        await Waiting.UntilAsync(() => aborted.Count == 3, "the three to be aborted");
        Assert.Equal(["/flushed", "/large", "/paused"], aborted.Order());
        Assert.Equal("Hello", (await other.AskAsync()).Text);
    }

    private static Task<FrontEnd> StartWithDefaultAsync(RequestDelegate application)
        => TestServer.ConnectAsync(
            application, static options => options.Limits.SendTimeout = new FastCgiServerLimits().SendTimeout);
}
