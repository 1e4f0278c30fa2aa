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
        Occupy(Permit.Thread, MaxBlockingThreads + 1);
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

    /// <summary>Otherwise, middleware that blocks the status would leave no thread to the application.</summary>
    [Theory, Values("status", "report")]
    public async Task CallsOfTheServer_BlockLoops_TakeNoThreadOfTheApplication(string what)
    {
        var holds = new List<Permit>();
        void Block()
        {
            Platform.Probe!.Sleeps = true;
            Scheduler.Watchdog.Sample();
            Scheduler.Watchdog.Sample();
            Platform.Probe.Sleeps = false;
            holds.Add(Worker.GetPermit(Here.CurrentCall));
            Assert.Equal(0, Workers.BlockedCount);
        }

        await using var server = await TestServer.StartAsync(
            Apps.Do(_ => Block()), static _ => { }, statusPaths: ["/status"]);
        for (var i = 0; i < MaxServerCalls + 1; i++)
        {
            var frontEnd = server.Connect();
            if (what == "status")
                Loop.Receive(frontEnd, RecordBytes.Get(1, "/status"));
            else
                Loop.Report(frontEnd, Block);
            Run(Scheduler);
            Occupy(Permit.Server, 1);
        }

        Assert.Equal([Permit.Server, Permit.Server], holds);
        Assert.Equal(1, Workers.ServerWaitingCount);
        GiveBackAll();
        Workers.WakeForWaiting();
        Platform.RunAll();
    }

    /// <summary>Peers cause reports, and must not fill the memory while a log provider blocks.</summary>
    [Fact]
    public void Reports_MoreThanAThousandWait_RestIsDropped()
    {
        Occupy(Permit.Thread, MaxBlockingThreads + 1);
        for (var i = 0; i < 2_100; i++)
            Loop.Report(FrontEnd, () => _calls.Add("report"));
        Run();

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
