namespace FastCgi.AspNetCore.InMemoryTests;

public class ShutdownTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);

    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Fact]
    [Contract("G1")]
    public Task Stop_RunningRequest_AnsweredAndThenClosed()
        => Script.PlayAsync("get/slow stop open go 200 closed notice");

    /// <summary>The grace is 2 seconds, and the time for a drain is 5 seconds.</summary>
    [Theory]
    [InlineData("get 200 3s stop closed")]
    [InlineData("get 200 stop 2s open 1s closed")]
    [InlineData("get 200 stop get 200 notice closed")]
    // Here the transport finds that there is something to receive, and does not close.
    [InlineData("get 200 3s stop get/slow 6s unreset go 200 closed notice")]
    // A new connection.
    [InlineData("stop get.last 200 silent closed")]
    [InlineData("stop 2s open 1s closed")]
    [InlineData("get/slow+get:2/wait stop go 200 abort:2 2:end closed")]
    public Task Stop_ConnectionUsedOfLateOrNot_ClosedAfterTheGraceOrTheNextAnswer(string script)
        => Script.PlayAsync(script);

    [Fact]
    public Task Stop_WithoutAGrace_IdleConnectionClosedAtOnce()
        => Script.PlayAsync("get 200 stop closed", static limits => limits.ShutdownIdleGracePeriod = TimeSpan.Zero);

    [Fact]
    [Contract("G1", "I21")]
    public Task Stop_TokenFires_RestAborted() => Script.PlayAsync(
        "get/wait kill stopped reset",
        afterwards: static server => Assert.Equal(
            LogLevel.Debug, Assert.Single(server.Logs.Named("ConnectionsNotClosedInTime")).Level));

    /// <summary>A provider that blocks must neither keep the requests running, nor the process.</summary>
    [Fact]
    public async Task Stop_LogProviderBlocks_Ends()
    {
        using var unblocked = new ManualResetEventSlim();
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.Run(Apps.UntilAborted),
            services: services => services.AddSingleton<ILoggerProvider>(
                new ActingLogs("ConnectionsNotClosedInTime", unblocked.Wait)));
        frontEnd.Send(RecordBytes.Get());

        await frontEnd.Server.StopAsync(new CancellationToken(canceled: true)).Within("the stop");

        Assert.True(frontEnd.Transport.IsReset);
        unblocked.Set();
    }

    /// <summary>Otherwise, it would stay open until the process ends.</summary>
    [Fact]
    public async Task Stop_WebServerDoesNotCloseAfterTheCut_ConnectionEndsWithTheStop()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static async context =>
            {
                await context.Response.Body.FlushAsync();
                await Apps.UntilAborted(context);
            },
            static options => options.Limits.LingerTimeout = Timeout.InfiniteTimeSpan);
        frontEnd.Transport.HasReset = false;
        // The web server may have more to send.
        frontEnd.Send(RecordBytes.PostHead(1_000));
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "the start of the response");

        var stopping = frontEnd.Server.StopAsync(new CancellationToken(canceled: true));
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the end of our side");
        Assert.Equal([CloseAction.HalfClose], frontEnd.Transport.Decisions);
        await frontEnd.Server.AdvanceUntilAsync(() => stopping.IsCompleted, "the stop");

        Assert.True(frontEnd.Transport.IsReset);
        await Waiting.UntilAsync(() => frontEnd.Server.Connections.Count == 0, "the end of the connection");
    }

    /// <summary>
    /// Otherwise a stop that takes the whole timeout would have no visible reason: there is neither a request nor a
    /// connection.
    /// </summary>
    [Fact]
    public async Task Stop_HandlerRunsWithoutItsClient_LogsTheReasonOfTheWait()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.HelloAfter(_go.Task));
        var server = frontEnd.Server;
        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();
        using var patience = new CancellationTokenSource();

        var stopping = server.StopAsync(patience.Token);
        server.Clock.Advance(TimeSpan.FromSeconds(4));
        Assert.Empty(server.Logs.Named("StopWaits"));
        server.Clock.Advance(s_tick);
        Assert.Contains(
            "running requests: 0; open connections: 0; closed connections whose handlers have not returned: 1",
            (await server.Logs.SingleAsync("StopWaits")).Message);
        await patience.CancelAsync();
        await stopping.Within("the stop");

        var end = Assert.Single(server.Logs.Named("StopTimedOut"));
        Assert.Contains("connections whose handlers have not returned: 1", end.Message);
        _go.SetResult();
    }

    /// <summary>
    /// A connection that the peer has not closed yet counts only if a handler still runs: otherwise the reason would be
    /// wrong.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task Stop_TimesOutWhileAConnectionIsOpen_CountsItIfItsHandlerRuns(bool isRunning)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.HelloAfter(isRunning ? _go.Task : Task.CompletedTask),
            static options => options.Limits.LingerTimeout = Timeout.InfiniteTimeSpan);
        var server = frontEnd.Server;
        frontEnd.Transport.HoldsReset = true;
        // The web server may have more to send, so the connection is drained.
        frontEnd.Send(RecordBytes.PostHead(1_000, keepConnection: false));
        Assert.Equal(isRunning ? [] : [CloseAction.HalfClose], frontEnd.Transport.Decisions);

        var stopping = server.StopAsync(new CancellationToken(canceled: true));
        await server.AdvanceUntilAsync(() => stopping.IsCompleted, "the stop");
        _go.SetResult();
        frontEnd.Close();

        Assert.True(frontEnd.Transport.IsReset);
        Assert.Equal(
            isRunning
                ? ["The shutdown timed out. Aborted requests: 1; connections whose handlers have not returned: 1. "
                    + "Raise HostOptions.ShutdownTimeout if requests may take longer."]
                : [],
            server.Logs.Named("StopTimedOut").Select(static log => log.Message));
    }

    /// <summary>
    /// The thread of the handler finishes the request, while another removes it. If its connection were over twice, or
    /// never, a stop would end too soon, or never.
    /// </summary>
    [Theory, Values("abort record", "close", "Abort()", "failure")]
    [Contract("G1")]
    public async Task Stop_HandlersReturnedWhileTheirClientsGaveUp_AnswersTheRequestsUnderWay(string how)
    {
        var givenUp = new ConcurrentDictionary<string, (IHttpRequestLifetimeFeature, TaskCompletionSource)>();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                if (context.Request.Path.StartsWithSegments("/given-up"))
                {
                    var (_, given) = givenUp[context.Request.Path] =
                        (context.Features.GetRequiredFeature<IHttpRequestLifetimeFeature>(), Waiting.Signal());
                    await given.Task;
                    return;
                }

                await _go.Task;
                await Apps.Hello(context);
            },
            static options => options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero);
        FrontEnd[] underWay = [server.Send(), server.Send()];
        var gone = new List<FrontEnd>();
        for (var i = 0; i < 3; i++)
        {
            var frontEnd = server.Send($"/given-up/{i}");
            gone.Add(frontEnd);
            var (lifetime, given) = givenUp[$"/given-up/{i}"];
            given.SetResult();
            GiveUp(frontEnd, lifetime, how);
        }

        var stopping = server.StopAsync();

        Assert.False(stopping.IsCompleted);
        _go.SetResult();
        foreach (var frontEnd in underWay)
            Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.False(stopping.IsCompleted);
        foreach (var frontEnd in underWay.Concat(gone))
            frontEnd.Close();
        await stopping.Within("the stop");
    }

    private static void GiveUp(FrontEnd frontEnd, IHttpRequestLifetimeFeature lifetime, string how)
    {
        switch (how)
        {
            case "abort record":
                frontEnd.Send(RecordBytes.Abort());
                break;
            case "close":
                frontEnd.Close();
                break;
            case "Abort()":
                lifetime.Abort();
                break;
            default:
                frontEnd.Transport.Connection.Fail();
                break;
        }
    }

    [Fact]
    public async Task Stop_NewConnection_Rejected()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        await server.StopAsync();

        Assert.ThrowsAny<Exception>(() => server.Connect());
    }

    /// <summary>
    /// Objects that the callbacks use, such as the request's services, exist until the callbacks have ended, even if
    /// the client has disconnected.
    /// </summary>
    [Fact]
    public async Task Stop_WhileACallbackRuns_WaitsForIt()
    {
        var (entered, go) = (Waiting.Signal(), Waiting.Signal());
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(
            context => context.Response.OnCompleted(() =>
            {
                entered.SetResult();
                return go.Task;
            })));
        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        await entered.Task.Within("the callback");
        frontEnd.Close();

        var stopping = frontEnd.Server.StopAsync();

        await Waiting.UntilAsync(
            () => frontEnd.Server.Connections is { IsStopping: true, Count: 0 }, "the connection to go");
        Assert.False(stopping.IsCompleted);
        go.SetResult();
        await stopping.Within("the stop");
    }
}
