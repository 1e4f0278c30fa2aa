namespace FastCgi.AspNetCore.InMemoryTests;

public class TimeoutTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);

    [Fact]
    [Trait("Contract", "G4")]
    public async Task PARAMS_NotCompleteInTime_408AndConnectionClosed()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(10));
        frontEnd.Send(RecordBytes.Begin());

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(9));
        Assert.Empty(frontEnd.ReadAvailable());
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.Equal(408, (await frontEnd.ReadResponseAsync()).Status);
        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Theory, Values("nothing", "half a header", "half a record", "GET_VALUES", "an unknown record")]
    public async Task Connection_OnWhichNoRequestBegins_ClosedInTheTimeOfParams(string sent)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        frontEnd.Send(BytesOf(sent));

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(29));
        Assert.False(frontEnd.Transport.IsClosed || frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.True(frontEnd.Transport.IsClosed || frontEnd.Transport.IsReset);
    }

    /// <summary>It would be closed if there were nothing to receive first.</summary>
    [Fact]
    public async Task Connection_OnWhichNoRequestBeginsAndSomethingAlwaysComes_ResetInTwiceTheTime()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        for (var i = 0; i < 59; i++)
        {
            frontEnd.Send(BytesOf("GET_VALUES"));
            frontEnd.Server.Clock.Advance(s_tick);
        }

        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);
        Assert.True(frontEnd.Transport.IsReset);
    }

    /// <summary>Web servers keep connections for hours, and decide what to do between two requests.</summary>
    [Theory]
    [Trait("Contract", "G3")]
    [Values("nothing", "half a header", "GET_VALUES", "an unknown record")]
    public async Task Connection_ThatHasCarriedARequest_StaysOpen(string sent)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        await frontEnd.AskAsync();
        frontEnd.Send(BytesOf(sent));
        frontEnd.ReadAvailable();

        frontEnd.Server.Clock.Advance(TimeSpan.FromHours(5));

        Assert.False(frontEnd.Transport.IsClosed || frontEnd.Transport.IsReset);
        frontEnd.Send(sent == "half a header" ? RecordBytes.Get()[4..] : RecordBytes.Get());
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    private static Task<FrontEnd> StartWithDefaultAsync(RequestDelegate application)
        => TestServer.ConnectAsync(
            application, static options => options.Limits.SendTimeout = new FastCgiServerLimits().SendTimeout);

    public static TheoryData<string, int> Pieces()
    {
        var pieces = new TheoryData<string, int>();
        foreach (var age in new[] { "unused", "used", "used together", "past its keep-alive timeout", "stopping" })
        {
            for (var split = 1; split < 16; split++)
                pieces.Add(age, split);
        }

        return pieces;
    }

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

    private static byte[] BytesOf(string what) => what switch
    {
        "half a header" => RecordBytes.Get()[..4],
        "half a record" => RecordBytes.Begin()[..12],
        "GET_VALUES" => RecordBytes.Record(RecordBytes.GetValues, 0),
        "an unknown record" => RecordBytes.Record(77, 0),
        _ => [],
    };

    [Theory, Values(false, true)]
    public async Task GET_VALUES_WithoutItsEnd_ResetInTheTimeOfParams(bool isAfterARequest)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        if (isAfterARequest)
        {
            await frontEnd.AskAsync();
            frontEnd.Server.Clock.Advance(TimeSpan.FromHours(1));
        }

        // A header that claims 60,000 bytes, and now and then one of them.
        frontEnd.Send(RecordBytes.Record(9, 0, new byte[60_000])[..9]);
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(29));
        frontEnd.Send([0]);
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.True(frontEnd.Transport.IsReset);
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

    /// <summary>Results of GET_VALUES are not responses, but the peer does not receive them either.</summary>
    [Fact]
    public async Task UnsentAnswer_OfManagement_ResetToo()
    {
        await using var frontEnd = await StartWithDefaultAsync(Apps.Hello);
        await frontEnd.AskAsync();
        frontEnd.Transport.HoldSends();
        frontEnd.Send(BytesOf("GET_VALUES"));

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(120));
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.True(frontEnd.Transport.IsReset);
    }

    [Theory, Values(false, true)]
    public async Task Record_ThatCameInPieces_LeavesNothingPending(bool isOfManagement)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        for (var i = 0; i < 2; i++)
        {
            frontEnd.SendByteByByte(RecordBytes.Get(id: i + 1));
            await frontEnd.ReadResponseAsync(i + 1);
            if (isOfManagement)
                frontEnd.SendByteByByte(
                    RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MAX_REQS", ""))));
            Assert.Equal(isOfManagement ? 1 : 0, frontEnd.ReadAvailable().Count);
            frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(1));
            Assert.False(frontEnd.Transport.IsReset);
        }
    }

    [Fact]
    public async Task KeepAliveTimeout_WhileARequestRuns_ConnectionStaysOpen()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.HelloAfter(go.Task),
            static options => options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(5));
        frontEnd.Send(RecordBytes.Get());

        frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(5));
        Assert.False(frontEnd.Transport.IsClosed);
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "E9")]
    [Trait("Contract", "T13")]
    public async Task LingerTimeout_PeerKeepsTheConnectionOpen_Reset()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        // Without the end of STDIN, so that there may be more to come.
        await frontEnd.AskAsync(
            RecordBytes.Begin(keepConnection: false), RecordBytes.ParamsStream(1, RecordBytes.RequestParams()));

        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(4));
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.True(frontEnd.Transport.IsReset);
    }
}
