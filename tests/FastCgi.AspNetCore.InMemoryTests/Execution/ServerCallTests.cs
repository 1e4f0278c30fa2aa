namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>The server's own calls, such as the status and reports, when something blocks them.</summary>
public sealed class ServerCallTests : SchedulerTest
{
    private const int MaxServerCalls = 2;

    private readonly List<string?> _calls = [];

    /// <summary>Otherwise, each would cost a loop its thread, until no thread is left for any loop.</summary>
    [Fact]
    public async Task Loop_CallsBlockedMoreThreadsThanAllowed_RespondsOnlyToAPing()
    {
        await using var server = await StartAsync();
        var frontEnd = server.Connect();
        Occupy(Hold.Thread, MaxBlockingThreads + 1);
        Loop.Receive(
            frontEnd, RecordBytes.Get(1, "/status"), RecordBytes.Get(2, method: string.Empty),
            RecordBytes.Get(3, "/ping"));
        Loop.Report(frontEnd, () => _calls.Add("report"));

        Assert.True(Run(Scheduler));

        Assert.Empty(_calls);
        Assert.Equal("pong\n", (await frontEnd.ReadResponseAsync(3)).Text);
        Assert.Equal(3, Workers.ServerWaitingCount);
        Platform.RunAll();
        Assert.Equal(["/status", "report"], _calls);
        await frontEnd.ReadResponseAsync(1);
        Assert.Equal(400, (await frontEnd.ReadResponseAsync(2)).Status);
    }

    [Theory, Values(true, false)]
    public async Task CallsOfTheServer_AllThreadsForThemAreBlocked_WaitAndPingsDoNot(bool isLoop)
    {
        await using var server = await StartAsync();
        var frontEnd = server.Connect();
        Occupy(Hold.Server, MaxServerCalls);
        var ready = frontEnd.Receive(
            RecordBytes.Get(1, "/status"), RecordBytes.Get(2, method: string.Empty), RecordBytes.Get(3, "/ping"));
        ready.Report(() => _calls.Add("report"));

        Scheduler.RunElsewhere(ref ready, frontEnd.Transport.Connection.Output, isLoop);
        Platform.RunAll();

        Assert.Empty(_calls);
        Assert.Equal("pong\n", (await frontEnd.ReadResponseAsync(3)).Text);
        GiveBackAll();
        Workers.WakeForWaiting();
        Platform.RunAll();
        Assert.Equal(["/status", "report"], _calls);
        await frontEnd.ReadResponseAsync(1);
        Assert.Equal(400, (await frontEnd.ReadResponseAsync(2)).Status);
    }

    /// <summary>Peers cause reports, and must not fill the memory while a log provider blocks.</summary>
    [Fact]
    public void Reports_MoreThanAThousandWait_RestIsDropped()
    {
        Occupy(Hold.Server, MaxServerCalls);
        for (var receive = 0; receive < 3; receive++)
        {
            var ready = new ReadyRequests();
            for (var i = 0; i < 700; i++)
                ready.Report(() => _calls.Add("report"));
            Scheduler.RunElsewhere(ref ready, FrontEnd.Transport.Connection.Output, isLoop: true);
        }

        GiveBackAll();
        Workers.WakeForWaiting();
        Platform.RunAll();

        Assert.Equal(1_000, _calls.Count);
    }

    private Task<TestServer> StartAsync() => TestServer.StartAsync(
        context =>
        {
            _calls.Add(context.Request.Path);
            return Apps.Target(context);
        },
        static options => options.PingPath = "/ping",
        statusPaths: ["/status"]);
}
