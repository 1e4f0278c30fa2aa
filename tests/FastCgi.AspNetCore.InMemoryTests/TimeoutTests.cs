namespace FastCgi.AspNetCore.InMemoryTests;

public class TimeoutTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_keepAliveTimeout = TimeSpan.FromSeconds(10);
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

    /// <summary>A peer that still takes the end of a response, or pauses, has not closed, and loses nothing.</summary>
    [Theory, Values(true, false)]
    public async Task LingerTimeout_ResponseIsNotDelivered_BeginsWhenItIs(bool isInputComplete)
    {
        await using var frontEnd = await StartWithDefaultAsync(
            static context => context.Response.Body.WriteAsync(new byte[100_000]).AsTask());
        frontEnd.Transport.Undelivered = 50_000;
        var request = RecordBytes.Post(1, "/", new byte[10], keepConnection: false);
        frontEnd.Send(isInputComplete ? request : request[..^8]);
        await frontEnd.ReadResponseAsync();
        await frontEnd.Transport.WaitUntilAsync(
            () => frontEnd.Transport.Decisions.Contains(CloseAction.HalfClose), "the half-close");

        for (var i = 0; i < 3; i++)
        {
            frontEnd.Server.Clock.Advance(0.9 * s_sendTimeout);
            frontEnd.Transport.Undelivered--;
        }

        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Transport.Undelivered = 0;
        frontEnd.Server.Clock.Advance(4 * s_tick);
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(2 * s_tick);
        Assert.True(frontEnd.Transport.IsReset);
    }

    [Fact]
    public async Task LingerTimeout_ResponseIsNeverDelivered_ResetFiveMinutesAfterTheSendTimeout()
    {
        await using var frontEnd = await StartWithDefaultAsync(
            static context => context.Response.Body.WriteAsync(new byte[100_000]).AsTask());
        frontEnd.Transport.Undelivered = 50_000;
        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        await frontEnd.ReadResponseAsync();
        await frontEnd.Transport.WaitUntilAsync(
            () => frontEnd.Transport.Decisions.Count > 0, "the half-close");

        frontEnd.Server.Clock.Advance(s_sendTimeout + TimeSpan.FromMinutes(5));
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);
        Assert.True(frontEnd.Transport.IsReset);
    }

    /// <summary>The system delivers the rest, even after the end of the process.</summary>
    [Fact]
    public async Task Stop_ResponseIsNotDelivered_ConnectionClosesAtOnce()
    {
        await using var frontEnd = await StartWithDefaultAsync(
            static context => context.Response.Body.WriteAsync(new byte[100_000]).AsTask());
        frontEnd.Transport.Undelivered = 50_000;
        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        await frontEnd.ReadResponseAsync();
        await frontEnd.Transport.WaitUntilAsync(
            () => frontEnd.Transport.Decisions.Contains(CloseAction.HalfClose), "the half-close");

        var stop = frontEnd.Server.StopAsync();

        Assert.Equal([CloseAction.HalfClose, CloseAction.Close], frontEnd.Transport.Decisions);
        frontEnd.Close();
        await stop.Within("the stop");
    }

    /// <summary>A reset would destroy the rest of a response that a steady reader still receives.</summary>
    [Theory, Values(false, true)]
    public async Task IdleConnection_ResponseIsNotDelivered_IsNotReset(bool isStopping)
    {
        await using var frontEnd = await ConnectIdleAsync();

        var stop = isStopping ? frontEnd.Server.StopAsync() : Task.CompletedTask;
        frontEnd.Server.Clock.Advance(s_keepAliveTimeout + (2 * s_tick));

        Assert.False(frontEnd.Transport.IsReset);
        Assert.Equal(
            isStopping ? CloseAction.Close : CloseAction.None, frontEnd.Transport.Decisions.FirstOrDefault());
        if (!isStopping)
        {
            frontEnd.Transport.Undelivered = 0;
            frontEnd.Server.Clock.Advance(s_tick);
            Assert.Equal(CloseAction.ResetUnlessInput, frontEnd.Transport.Decisions[^1]);
        }

        frontEnd.Close();
        await stop.Within("the stop");
    }

    /// <summary>Its end is behind the response, so the web server could not know that the connection closes.</summary>
    [Theory, Values(0, 12)]
    public async Task IdleConnection_RequestComesBeforeTheDelivery_IsServed(int lengthBefore)
    {
        await using var frontEnd = await ConnectIdleAsync();
        var next = RecordBytes.Get();
        frontEnd.Server.Clock.Advance(s_keepAliveTimeout - s_tick);
        frontEnd.Send(next[..lengthBefore]);
        frontEnd.Server.Clock.Advance(3 * s_tick);
        frontEnd.Transport.Undelivered = 0;

        frontEnd.Send(next[lengthBefore..]);

        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }

    /// <summary>It would occupy its place for ever, even without a send timeout.</summary>
    [Theory, InlineData(null), InlineData(60)]
    public async Task IdleConnection_ResponseIsNeverDelivered_ResetFiveMinutesAfterTheSendTimeout(int? sendTimeout)
    {
        await using var frontEnd = await ConnectIdleAsync(
            options => options.Limits.SendTimeout = sendTimeout is { } seconds ? TimeSpan.FromSeconds(seconds) : null);
        frontEnd.Server.Clock.Advance(s_keepAliveTimeout + (2 * s_tick));

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(300 + sendTimeout.GetValueOrDefault()) - (2 * s_tick));
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(3 * s_tick);
        Assert.True(frontEnd.Transport.IsReset);
    }

    /// <summary>The body of an early response has arrived since, because another request has begun.</summary>
    [Fact]
    public async Task Stop_EarlierBodyWasIncomplete_ConnectionClosesAtOnce()
    {
        await using var frontEnd = await ConnectIdleAsync();
        frontEnd.Transport.Undelivered = 0;
        var post = RecordBytes.Post(1, "/", new byte[10]);
        frontEnd.Send(post[..^8]);
        await frontEnd.ReadResponseAsync();
        frontEnd.Send(post[^8..]);
        frontEnd.Transport.Undelivered = 50_000;
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();

        var stop = frontEnd.Server.StopAsync();
        frontEnd.Server.Clock.Advance(3 * s_tick);

        Assert.Equal(CloseAction.Close, frontEnd.Transport.Decisions[0]);
        frontEnd.Close();
        await stop.Within("the stop");
    }

    private static async Task<FrontEnd> ConnectIdleAsync(Action<FastCgiServerOptions>? configure = null)
    {
        var frontEnd = await TestServer.ConnectAsync(
            static context => context.Response.Body.WriteAsync(new byte[100_000]).AsTask(),
            options =>
            {
                options.Limits.KeepAliveTimeout = s_keepAliveTimeout;
                configure?.Invoke(options);
            });
        frontEnd.Transport.Undelivered = 50_000;
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();
        return frontEnd;
    }

    /// <summary>The web server cannot send the rest of the parameters while the server does not receive.</summary>
    [Fact]
    public async Task RequestParametersTimeout_WhileReceivingIsPaused_DoesNotPass()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());
        for (var id = 2; id < 110; id++)
        {
            frontEnd.Send(RecordBytes.Get(id));
            await Waiting.UntilAsync(() => frontEnd.Transport.Connection.RequestCount == 0, "the responses");
        }

        frontEnd.Send(RecordBytes.Begin(200));
        Assert.True(frontEnd.Transport.Connection.IsReceivePaused);
        frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(10));

        frontEnd.Transport.ReleaseSend(continues: false);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount > 0, "the resume");
        frontEnd.Server.Clock.Advance(s_tick);
        frontEnd.Send(RecordBytes.Get(200).AsSpan()[16..].ToArray());
        for (var i = 1; i < 110; i++)
            await frontEnd.ReadRequestAsync();
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync(200)).Text);
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
        Assert.Contains("last such message: 1;", warnings[0].Message, StringComparison.Ordinal);
        Assert.Contains("last such message: 2;", warnings[1].Message, StringComparison.Ordinal);
        Assert.Contains("raise FastCgi:Limits:SendTimeout", warnings[1].Message, StringComparison.Ordinal);

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
