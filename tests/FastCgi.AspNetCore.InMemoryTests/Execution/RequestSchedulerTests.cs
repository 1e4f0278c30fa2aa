namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>
/// Which thread calls the application, what the application leaves there, and when its response is sent.
/// </summary>
public sealed class RequestSchedulerTests : SchedulerTest
{
    private static readonly AsyncLocal<string?> s_ambient = new();

    [Theory]
    [InlineData(FastCgiApplicationScheduling.Auto, Place.Loop)]
    [InlineData(FastCgiApplicationScheduling.Inline, Place.Loop)]
    [InlineData(FastCgiApplicationScheduling.ThreadPool, Place.ThreadPool)]
    public async Task UnknownPath_RunsOnTheLoopUnlessTheOptionsSayOtherwise(
        FastCgiApplicationScheduling scheduling, Place place)
    {
        var called = RecordPlace();

        Run(CreateScheduler(scheduling), RecordBytes.Get());

        Assert.Equal(place, await called.Task.Within("the call"));
        await FrontEnd.ReadResponseAsync();
    }

    [Theory]
    [InlineData(1, false, Place.Loop)]
    [InlineData(19, true, Place.Loop)]
    [InlineData(20, true, Place.Seat)]
    [InlineData(20, false, Place.Loop)]
    [InlineData(149, false, Place.Loop)]
    [InlineData(150, false, Place.Seat)]
    [InlineData(5_000, true, Place.Seat)]
    public async Task KnownPath_RunsWhereItHarmsNoOther(int microseconds, bool isBusy, Place place)
    {
        var called = RecordPlace();
        Learn("/1", microseconds);
        if (isBusy)
            MakeBusy();

        Run(RecordBytes.Get(1, "/1"));

        Assert.Equal(place, await called.Task.Within("the call"));
        await FrontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task PathThatBlocks_RunsOnAThreadOfItsOwn()
    {
        var called = RecordPlace();
        Scheduler.Predictor.OnStalled(new PathKey("/"));

        Assert.True(Run(RecordBytes.Get()));

        Assert.False(called.Task.IsCompleted);
        Assert.Equal(1, Workers.WaitingCount);
        Platform.RunAll();
        Assert.Equal(Place.Thread, await called.Task);
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>If it blocked, no thread could take the loop from it.</summary>
    [Fact]
    public async Task UnknownPath_NoThreadIsLeftForHandlersThatBlock_Waits()
    {
        Application = context =>
        {
            if (context.Request.Path == "/1")
                Assert.True(Run(RecordBytes.Get(2, "/unknown1")));
            return Apps.Target(context);
        };
        Scheduler.Predictor.OnStalled(new PathKey("/1"));
        Occupy(Permit.Thread, MaxBlockingThreads - 1);

        Run(RecordBytes.Get(1, "/1"));
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync(1);
        Assert.Equal(0, Workers.WaitingCount);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>Whatever the application does with the threads, the status does not wait for one.</summary>
    [Theory, Values("its path was slow", "the first request runs", "the thread pool is asked")]
    public async Task Status_WhileTheApplicationKeepsEveryThread_RunsAtOnce(string why)
    {
        var scheduling = why == "the thread pool is asked"
            ? FastCgiApplicationScheduling.ThreadPool
            : FastCgiApplicationScheduling.Auto;
        var called = RecordPlace();
        await using var server = await TestServer.StartAsync(
            context => Application(context),
            static options => options.Limits.MaxConcurrentRequests = 10,
            statusPaths: ["/status"]);
        var frontEnd = server.Connect();
        var scheduler = CreateScheduler(scheduling);
        if (why == "the first request runs")
            Assert.True(scheduler.Workers.First.TryBegin(thread: null));
        else
            scheduler.Workers.EndFirst();
        scheduler.Predictor.OnStalled(new PathKey("/status"));
        for (var i = 0; i < MaxBlockingThreads; i++)
            scheduler.Occupy(Permit.Thread);
        Loop.Receive(frontEnd, RecordBytes.Get(1, "/status"));

        Assert.True(Run(scheduler));

        Assert.Equal(0, scheduler.Workers.WaitingCount);
        Assert.Equal(Place.Loop, await called.Task.Within("the call"));
        Assert.Equal("GET /status", (await frontEnd.ReadResponseAsync()).Text);
    }

    /// <summary>All seats and all threads for the application are in use, and the thread pool is not used.</summary>
    [Theory, Values("rejected", "aborted")]
    public async Task ResponseOfTheServer_WhileHandlersBlockEveryThread_IsSent(string what)
    {
        Occupy(Permit.Thread, MaxBlockingThreads);
        Occupy(Permit.Seat, Platform.Processors);
        var ready = FrontEnd.Receive(what == "rejected" ? RecordBytes.Get(1, method: string.Empty) : RecordBytes.Get());
        if (what == "aborted")
            FrontEnd.Receive(RecordBytes.Abort());

        Loop.Receive(ready, FrontEnd);
        Run();
        Platform.RunAll();

        if (what == "rejected")
            Assert.Equal(400, (await FrontEnd.ReadResponseAsync()).Status);
        Assert.Equal(0, TestServer.CountUnfinished(FrontEnd.Transport.Connection));
    }

    /// <summary>On an overloaded machine, hundreds of others would compete with it for the processors.</summary>
    [Theory]
    [InlineData("first runs", 499, 1)]
    [InlineData("first runs", 500, 2)]
    [InlineData("first sleeps", 500, 2)]
    [InlineData("first waits for a processor", 1_000, 1)]
    [InlineData("server stops", 1, 2)]
    public async Task LaterRequests_WhileTheFirstRuns_WaitForALimitedTime(string why, int samples, int called)
    {
        var scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto);
        var calls = new List<string>();
        Application = context =>
        {
            calls.Add(context.Request.Path!);
            if (calls.Count == 1)
            {
                Run(scheduler, RecordBytes.Get(2, "/second1"));
                Platform.RunAll();
                Assert.Single(calls);
                Platform.Probe!.Sleeps = why == "first sleeps";
                for (var i = 0; i < samples; i++)
                {
                    Platform.Probe.Time += why == "first runs" ? 1 : 0;
                    scheduler.Watchdog.Sample();
                }

                if (why == "server stops")
                    scheduler.BeginStop();
                Platform.RunAll();
                Assert.Equal(called, calls.Count);
            }

            return Apps.Target(context);
        };

        Run(scheduler, RecordBytes.Get(1, "/first1"));

        Platform.RunAll();
        Assert.Equal(["/first1", "/second1"], calls);
        foreach (var id in called == 1 ? new[] { 1, 2 } : [2, 1])
            await FrontEnd.ReadResponseAsync(id);
    }

    [Theory, Values("loop", "seat", "thread")]
    public async Task ThreadState_SetByTheApplication_EndsWithItsCall(string place)
    {
        var before = SynchronizationContext.Current;
        var seen = new List<(ThreadPriority, bool)>();
        Application = context =>
        {
            s_ambient.Value = "of the application";
            SynchronizationContext.SetSynchronizationContext(new SynchronizationContext());
            seen.Add((Thread.CurrentThread.Priority, Thread.CurrentThread.IsBackground));
            (Thread.CurrentThread.Priority, Thread.CurrentThread.IsBackground) = (ThreadPriority.Lowest, false);
            return Apps.Target(context);
        };
        if (place == "thread")
            Scheduler.Predictor.OnStalled(new PathKey("/1"));
        else if (place == "seat")
            Learn("/1", microseconds: 500);

        for (var id = 1; id <= 2; id++)
        {
            Run(RecordBytes.Get(id, "/1"));
            Platform.RunAll();
            await FrontEnd.ReadResponseAsync(id);
            Assert.Null(s_ambient.Value);
            Assert.Same(before, SynchronizationContext.Current);
        }

        Assert.Equal((ThreadPriority.Normal, true), seen[1]);
    }

    [Fact]
    public void SeveralRequests_OfOneReceive_AreAnsweredWithOneSend()
    {
        Run(RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Get(3));

        Assert.Equal(1, FrontEnd.Transport.SendCount);
        Assert.Equal(3, FrontEnd.ReadAvailable().Count(static record => record.Type == RecordBytes.EndRequest));
        Assert.Null(Loop.Queue.Output);
    }

    /// <summary>The time of a stall is not that of the loop, which another thread has then.</summary>
    [Fact]
    public async Task Call_LosesItsLoop_CountsNoWorkOfIt()
    {
        Application = context =>
        {
            Clock.Advance(TimeSpan.FromSeconds(1));
            var call = Here.CurrentCall;
            Assert.True(Workers.TryTake(Here, ref call, Permit.Thread));
            return Apps.Target(context);
        };

        Assert.False(Run(RecordBytes.Get()));

        Loop.Queue.UpdateLoad(Scheduler.CreateMeter().Now);
        Assert.False(Loop.Queue.IsBusy);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync();
    }

    [Theory, Values("request", "report")]
    public async Task Call_WatchdogIsParked_WakesIt(string what)
    {
        ParkWatchdog();
        if (what == "report")
            Loop.Report(FrontEnd, static () => { });
        else
            Loop.Receive(FrontEnd, RecordBytes.Get());

        Run();

        Assert.True(Watchdog.IsWoken);
        if (what == "request")
            await FrontEnd.ReadResponseAsync();
    }

    /// <summary>A request that does not reach the application teaches the predictor nothing.</summary>
    [Fact]
    public void Abort_WhileARequestWaits_TeachesNothing()
    {
        Scheduler.Predictor.OnStalled(new PathKey("/"));
        for (var id = 1; id <= 3; id++)
        {
            Run(RecordBytes.Get(id));
            FrontEnd.Receive(RecordBytes.Abort(id));
            Platform.RunAll();
        }

        Assert.True(Scheduler.Predictor.Predict(new PathKey("/")).Sleeps);
    }

    [Theory, Values("probe", "thread", "source")]
    public async Task Run_SomethingFails_TheLoopContinues(string what)
    {
        var platform = new BrokenPlatform(what);
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2 },
            platform,
            Clock,
            NullLogger.Instance);
        scheduler.Workers.EndFirst();
        if (what == "thread")
            scheduler.Predictor.OnStalled(new PathKey("/x1"));
        if (what == "source")
            Loop.Fail();
        var other = Server.Connect();
        Loop.Receive(FrontEnd, RecordBytes.Get(1, "/x1"));
        Loop.Receive(other, RecordBytes.Get(1, "/y1"));

        var worker = scheduler.CreateWorker();
        scheduler.Lend(worker, Loop);
        scheduler.Run(worker, Loop);

        Assert.Equal("GET /y1", (await other.ReadResponseAsync()).Text);
        platform.IsBroken = false;
        scheduler.Workers.EnsureSpare();
        Assert.Equal("GET /x1", (await FrontEnd.ReadResponseAsync(1)).Text);
        scheduler.Stop();
    }

    private TaskCompletionSource<Place> RecordPlace()
    {
        var called = Waiting.Signal<Place>();
        Application = context =>
        {
            var caller = Platform.Workers.Append(Here)
                .FirstOrDefault(static worker => worker is { CurrentCall: not 0 });
            called.TrySetResult(caller is null ? Place.ThreadPool : Worker.GetPermit(caller.CurrentCall) switch
            {
                Permit.Loop => Place.Loop,
                Permit.Seat => Place.Seat,
                _ => Place.Thread,
            });
            return Apps.Target(context);
        };
        return called;
    }
}
