namespace FastCgi.AspNetCore.InMemoryTests;

public class ShutdownTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_grace = new FastCgiServerLimits().ShutdownIdleGracePeriod;

    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Theory, Values(true, false)]
    [Trait("Contract", "G1")]
    public async Task Stop_ConnectionIdleForLongerThanTheGrace_ClosedAtOnce(bool hasGrace)
    {
        var grace = hasGrace ? s_grace : TimeSpan.Zero;
        await using var server = await TestServer.StartAsync(
            Apps.Hello, options => options.Limits.ShutdownIdleGracePeriod = grace);
        var frontEnd = await ConnectAndGetAsync(server);
        server.Clock.Advance(hasGrace ? s_grace + s_tick : TimeSpan.Zero);

        var stopping = server.StopAsync();
        Assert.True(frontEnd.Transport.IsClosed);
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    public async Task Stop_ConnectionUsedOfLate_ClosedAfterTheGrace()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = await ConnectAndGetAsync(server);

        var stopping = server.StopAsync();
        server.Clock.Advance(s_grace);
        Assert.False(frontEnd.Transport.IsClosed);
        server.Clock.Advance(s_tick);
        Assert.True(frontEnd.Transport.IsClosed);
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    public async Task Stop_RequestOnAConnectionUsedOfLate_AnsweredWithFarewellAndClosed()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnd = await ConnectAndGetAsync(server);

        var stopping = server.StopAsync();
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
        AssertFarewell(frontEnd);
        Assert.True(frontEnd.Transport.IsClosed);
        frontEnd.Close();
        await stopping.Within("the stop");
    }

    [Fact]
    public async Task Stop_RequestArrivesWhileTheIdleConnectionIsClosed_RunsOnBeyondTheLingerTimeout()
    {
        await using var server = await TestServer.StartAsync(Apps.After(_go.Task, Apps.Hello, path: "/slow"));
        var frontEnd = await ConnectAndGetAsync(server);
        server.Clock.Advance(s_grace + s_tick);
        var stopping = server.StopAsync();

        // Here the transport finds that there is something to receive, and does not close.
        frontEnd.Send(RecordBytes.Get(uri: "/slow"));
        server.Clock.Advance(new FastCgiServerLimits().LingerTimeout + s_tick);
        Assert.False(frontEnd.Transport.IsReset);
        _go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the close");
        AssertFarewell(frontEnd);
        frontEnd.Close();
        await stopping.Within("the stop");
    }

    [Fact]
    public async Task Stop_NewConnectionWithoutARequest_RequestAwaitedForTheGrace()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var late = server.Connect();
        var silent = server.Connect();

        var stopping = server.StopAsync();
        Assert.Equal("Hello", (await late.AskAsync(RecordBytes.Get(keepConnection: false))).Text);
        Assert.Empty(late.ReadAvailable());
        server.Clock.Advance(s_grace + s_tick);
        Assert.True(silent.Transport.IsClosed);
        late.Close();
        silent.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    [Trait("Contract", "G1")]
    public async Task Stop_RunningRequest_AnsweredAndThenClosed()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.HelloAfter(_go.Task));
        frontEnd.Send(RecordBytes.Get());

        var stopping = frontEnd.Server.StopAsync();
        Assert.False(frontEnd.Transport.IsClosed);
        _go.SetResult();
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the close");
        AssertFarewell(frontEnd);
        frontEnd.Close();

        await stopping.Within("the stop");
    }

    [Fact]
    [Trait("Contract", "G1")]
    [Trait("Contract", "I21")]
    public async Task Stop_TokenFires_RestAborted()
    {
        var aborted = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            await aborted.Task;
        });
        frontEnd.Send(RecordBytes.Get());
        using var patience = new CancellationTokenSource();

        var stopping = frontEnd.Server.StopAsync(patience.Token);
        await patience.CancelAsync();

        await stopping.Within("the stop");
        Assert.True(frontEnd.Transport.IsReset);
        await aborted.Task.Within("the abort");
        Assert.Equal(
            LogLevel.Debug,
            Assert.Single(frontEnd.Server.Logs.All, static log => log.EventName == "ConnectionsNotClosedInTime").Level);
    }

    /// <summary>
    /// Otherwise a stop that takes the whole timeout would have no visible reason: there is neither a request nor a
    /// connection.
    /// </summary>
    [Fact]
    public async Task Stop_HandlerRunsOnWithoutItsClient_LogsWhatItWaitsFor()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.HelloAfter(_go.Task));
        var server = frontEnd.Server;
        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();
        using var patience = new CancellationTokenSource();

        var stopping = server.StopAsync(patience.Token);
        server.Clock.Advance(TimeSpan.FromSeconds(4));
        Assert.DoesNotContain(server.Logs.All, static log => log.EventName == "StopWaits");
        server.Clock.Advance(s_tick);
        Assert.Contains(
            "running requests: 0; open connections: 0; closed connections whose handlers have not returned: 1",
            (await server.Logs.SingleAsync("StopWaits")).Message,
            StringComparison.Ordinal);
        await patience.CancelAsync();
        await stopping.Within("the stop");

        var end = Assert.Single(server.Logs.All, static log => log.EventName == "StopTimedOut");
        Assert.Contains("connections whose handlers have not returned: 1", end.Message, StringComparison.Ordinal);
        _go.SetResult();
    }

    [Fact]
    public async Task Stop_NewConnection_Rejected()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        await server.StopAsync();

        Assert.ThrowsAny<Exception>(() => server.Connect());
    }

    private static async Task<FrontEnd> ConnectAndGetAsync(TestServer server)
    {
        var frontEnd = server.Connect();
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
        Assert.Empty(frontEnd.ReadAvailable());
        return frontEnd;
    }

    /// <summary>An empty record of management, in the same send as END_REQUEST.</summary>
    private static void AssertFarewell(FrontEnd frontEnd)
    {
        var farewell = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.GetValuesResult, farewell.Type);
        Assert.Equal(0, farewell.Id);
        Assert.Empty(farewell.Content);
    }
}
