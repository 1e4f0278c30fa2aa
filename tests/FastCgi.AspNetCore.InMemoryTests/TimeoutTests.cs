namespace FastCgi.AspNetCore.InMemoryTests;

public class TimeoutTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_sendTimeout = new FastCgiServerLimits().SendTimeout!.Value;

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
        "get 200 hold values 1h unreset 1s reset", static limits => limits.SendTimeout = s_sendTimeout);

    /// <summary>Some web servers read the response only after they have sent the whole body.</summary>
    [Fact]
    public Task LingerTimeout_InputContinuesAfterTheResponse_BeginsAgain()
        => Script.PlayAsync("post100.last+stdin10 200 4s stdin10 4s stdin10 4s unreset 1s reset");

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

    [Theory, Values("a send", "a part", "some of the system's buffer")]
    public async Task SendTimeout_SomethingReceivedOccasionally_SendContinues(string what)
    {
        await using var frontEnd = await StartWithDefaultAsync(
            static context => context.Response.Body.WriteAsync(new byte[2_000_000]).AsTask());
        frontEnd.Transport.HoldSends();
        frontEnd.Transport.Undelivered = 200_000;
        frontEnd.Send(RecordBytes.Get());

        for (var i = 0; i < 5; i++)
        {
            var sends = i + 1;
            await frontEnd.Transport.WaitUntilAsync(
                () => what != "a send" || frontEnd.Transport.SendCount >= sends, "the next send");
            frontEnd.Server.Clock.Advance(0.9 * s_sendTimeout);
            if (what == "a send")
                frontEnd.Transport.ReleaseSend();
            else if (what == "a part")
                frontEnd.Transport.Connection.Output.OnSendProgress();
            else
                frontEnd.Transport.Undelivered--;
        }

        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_sendTimeout + s_tick);
        Assert.True(frontEnd.Transport.IsReset);
    }

    [Theory]
    // A peer that still takes the end of a response, or pauses, has not closed, and loses nothing.
    [InlineData("undelivered post10/large.last+stdin10+stdin 200 HalfClose 54m trickle 54m trickle 54m trickle unreset "
        + "delivered 4s unreset 2s reset")]
    [InlineData("undelivered post10/large.last+stdin10 200 HalfClose 54m trickle 54m trickle 54m trickle unreset "
        + "delivered 4s unreset 2s reset")]
    // Five minutes after the send timeout.
    [InlineData("undelivered get/large.last 200 HalfClose 65m unreset 1s reset")]
    // The system delivers the rest, even after the end of the process.
    [InlineData("undelivered get/large.last 200 HalfClose stop Close")]
    public Task LingerTimeout_ResponseIsNotDelivered_BeginsWhenItIs(string script)
        => Script.PlayAsync(script, static limits => limits.SendTimeout = s_sendTimeout);

    /// <summary>A reset would destroy the rest of a response that a steady reader still receives.</summary>
    [Theory]
    [InlineData("undelivered get/large 200 12s open delivered 1s CheckInput")]
    [InlineData("undelivered get/large 200 stop 12s unreset Close")]
    // A small receive buffer may not take even this.
    [InlineData("undelivered get 200 12s open delivered 1s CheckInput")]
    // The end of the connection would arrive after the response, too late for the web server to see it.
    [InlineData("undelivered get/large 200 9s 3s delivered get 200")]
    [InlineData("undelivered get/large 200 9s get<12 3s delivered get>12 200")]
    // It would occupy its place forever, even without a send timeout.
    [InlineData("undelivered get/large 200 12s 298s unreset 3s reset")]
    [InlineData("undelivered get/large 200 12s 358s unreset 3s reset", 60)]
    // The body of an early response has arrived since, because another request has begun.
    [InlineData("post10+stdin10 200 stdin undelivered get/large 200 open stop 3s Close")]
    public Task IdleConnection_ResponseIsNotDelivered_IsKeptForIt(string script, int? sendTimeout = null)
        => Script.PlayAsync(script, limits =>
        {
            limits.KeepAliveTimeout = TimeSpan.FromSeconds(10);
            limits.SendTimeout = sendTimeout is { } seconds ? TimeSpan.FromSeconds(seconds) : null;
        });

    /// <summary>The web server cannot send the rest of the parameters while the server does not receive.</summary>
    [Fact]
    public Task RequestParametersTimeout_WhileReceivingIsPaused_DoesNotPass()
    {
        var ids = Enumerable.Range(1, 109).ToList();
        return Script.PlayAsync("hold " + string.Concat(ids.Select(static id => $"get:{id} "))
            + "begin:200 paused 10m release resumed 1s params:200+stdin:200 "
            + string.Concat(ids.Select(static id => $"{id}:200 ")) + "200:200");
    }

    [Fact]
    public async Task SendTimeout_Expires_OneWarningAMinuteNamesTheOption()
    {
        await using var first = await StartWithDefaultAsync(Apps.Hello);
        Cut(2);
        Cut(1);

        var warnings = first.Server.Logs.Named("ResponsesNotTaken");
        Assert.Equal(2, warnings.Count);
        Assert.All(warnings, static warning => Assert.Equal(LogLevel.Warning, warning.Level));
        Assert.Contains("last such message: 1;", warnings[0].Message);
        Assert.Contains("last such message: 2;", warnings[1].Message);
        Assert.Contains("raise FastCgi:Limits:SendTimeout", warnings[1].Message);

        void Cut(int count)
        {
            var stuck = Enumerable.Range(0, count).Select(_ => first.Server.Connect()).ToList();
            stuck.ForEach(static frontEnd => frontEnd.Transport.HoldSends());
            stuck.ForEach(static frontEnd => frontEnd.Send(RecordBytes.Get()));
            first.Server.Clock.Advance(s_sendTimeout + s_tick);
            Assert.All(stuck, static frontEnd => Assert.True(frontEnd.Transport.IsReset));
        }
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
        stuck.Server.Clock.Advance(s_sendTimeout - s_tick);
        Assert.False(stuck.Transport.IsReset);
        stuck.Server.Clock.Advance(s_tick);

        Assert.True(stuck.Transport.IsReset);
        await Waiting.UntilAsync(() => aborted.Count == 3, "the three to be aborted");
        Assert.Equal(["/flushed", "/large", "/paused"], aborted.Order());
        Assert.Equal("Hello", (await other.AskAsync()).Text);
    }

    private static Task<FrontEnd> StartWithDefaultAsync(RequestDelegate application)
        => TestServer.ConnectAsync(
            application, static options => options.Limits.SendTimeout = s_sendTimeout);
}
