namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>
/// The number of threads, their work, and their end: two processors, two threads for blocking handlers, and one loop.
/// </summary>
public sealed class WorkerPoolTests : SchedulerTest
{
    /// <summary>The watchdog and a spare thread start with the server.</summary>
    [Fact]
    public void EnsureSpare_WhileAThreadIsStarting_StartsNoOther()
    {
        Scheduler.Start();
        Platform.RunAll();
        Assert.Equal(2, Platform.Started.Count);
        Workers.Run(Loop.Queue);

        for (var i = 0; i < 3; i++)
            Workers.EnsureSpare();

        Assert.Equal(3, Platform.Started.Count);
    }

    [Fact]
    public void Stop_IdleThreads_AreWokenAndEnd()
    {
        Workers.EnsureSpare();
        Platform.RunAll();
        var idle = Assert.Single(Platform.Started);

        Workers.Stop();
        Workers.Stop();

        Assert.True(idle.IsWoken);
        Assert.Null(idle.Step());
        Assert.Equal(0, Workers.Count);
        Workers.EnsureSpare();
        Assert.Single(Platform.Started);
    }

    [Fact]
    public void Stop_ThreadThatBecomesIdleLater_Ends()
    {
        Loop.Report(FrontEnd, Workers.Stop);
        Workers.Run(Loop.Queue);

        var worker = Assert.Single(Platform.Started);
        while (worker.Step() is { } wait)
            Assert.Equal(TimeSpan.Zero, wait);

        Assert.Equal(0, Workers.Count);
    }

    [Fact]
    public void Threads_AtTheLimit_AreNoMoreUntilTheServerStops()
    {
        // Two that block, two that compute, a loop, one that it has lost, and three for the server.
        const int Limit = MaxBlockingThreads + 2 + 1 + 1 + 3;
        for (var i = 0; i < Limit + 3; i++)
            Workers.Run(new TestLoop().Queue);
        Assert.Equal(Limit, Workers.Count);

        Scheduler.BeginStop();
        Workers.Run(new TestLoop().Queue);

        Assert.Equal(Limit + 1, Workers.Count);
    }

    [Fact]
    public void Threads_OfAPlatformWithFew_AreNoMore()
    {
        var platform = new SteppedPlatform { MaxThreads = 1 };
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 100 };
        var scheduler = new RequestScheduler(options, platform, Clock, NullLogger.Instance);

        scheduler.Occupy(Permit.Thread);

        Assert.True(scheduler.Workers.IsFull);
    }

    [Fact]
    public void Threads_StartingAtOnce_AreLimited()
    {
        const int AtOnce = 16;
        var options = new FastCgiTransportOptions { LoopCount = 4, MaxBlockingThreads = 100 };
        var workers = new RequestScheduler(options, Platform, Clock, NullLogger.Instance).Workers;
        Platform.HasThreads = false;
        for (var i = 0; i < AtOnce + 5; i++)
            workers.Run(new TestLoop().Queue);
        Platform.HasThreads = true;

        for (var i = 0; i < AtOnce + 5; i++)
            workers.EnsureSpare();

        Assert.Equal(AtOnce, Platform.Started.Count);
    }

    [Fact]
    public async Task RequestsThatBlock_OneWaits_NextWaitsToo()
    {
        var calls = new List<string?>();
        Application = Apps.Do(context => calls.Add(context.Request.Path));
        Workers.EnsureSpare();
        Platform.RunAll();
        Occupy(Permit.Thread, MaxBlockingThreads);
        var ready = FrontEnd.Receive(RecordBytes.Get(1, "/1"), RecordBytes.Get(2, "/2"));
        Workers.Run(new WorkItem((FastCgiRequest)ready.RemoveFirst()), Permit.Thread);
        GiveBackAll();

        Workers.Run(new WorkItem((FastCgiRequest)ready.RemoveFirst()), Permit.Thread);
        Assert.Equal(2, Workers.WaitingCount);
        Workers.OnSampled(processors: 0);
        Platform.RunAll();

        Assert.Equal(["/1", "/2"], calls);
        await FrontEnd.ReadResponseAsync(1);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>Its handler may block, so the thread counts, and another becomes the spare.</summary>
    [Fact]
    public async Task RequestThatBlocks_IdleThread_GetsItAtOnce()
    {
        Application = _ =>
        {
            Assert.Equal(1, Workers.BlockedCount);
            Assert.Equal(2, Platform.Started.Count);
            return Task.CompletedTask;
        };
        Workers.EnsureSpare();
        Platform.RunAll();

        Workers.Run(new WorkItem((FastCgiRequest)FrontEnd.Receive(RecordBytes.Get()).RemoveFirst()), Permit.Thread);
        Assert.True(Assert.Single(Platform.Started).IsWoken);
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>
    /// Each seat has a request. The loop waits for the next thread that is free, which receives before it computes
    /// again.
    /// </summary>
    [Fact]
    public async Task RequestsThatCompute_MoreThanProcessors_WaitAndShortOnesOvertakeThem()
    {
        var calls = new List<string?>();
        Application = context =>
        {
            calls.Add(context.Request.Path);
            if (calls.Count == 1)
                Loop.Receive(FrontEnd, RecordBytes.Get(4, "/short"));
            return Apps.Target(context);
        };
        Learn("/long");
        Learn("/short");
        Learn("/long", microseconds: 500);
        Occupy(Permit.Seat, Platform.Processors - 1);
        Loop.Ends = false;

        Assert.False(Run(RecordBytes.Get(1, "/long"), RecordBytes.Get(2, "/long"), RecordBytes.Get(3, "/long")));
        Loop.Ends = true;
        Platform.RunAll();
        Workers.EnsureSpare();
        Platform.RunAll();

        Assert.Equal(["/long", "/short", "/long", "/long"], calls);
        foreach (var id in new[] { 1, 4, 2, 3 })
            await FrontEnd.ReadResponseAsync(id);
    }

    /// <summary>A processor is idle: the loop goes to another thread, which finds the second request.</summary>
    [Fact]
    public void RequestsThatCompute_ProcessorIsIdle_AnotherThreadIsWokenForEach()
    {
        Learn("/long", microseconds: 500);
        Workers.EnsureSpare();
        Platform.RunAll();
        Loop.Ends = false;
        var wasWoken = false;
        Application = context =>
        {
            wasWoken |= Platform.Started[0].IsWoken;
            return Apps.Target(context);
        };

        Assert.False(Run(RecordBytes.Get(1, "/long")));

        Assert.True(wasWoken);
        Loop.Ends = true;
    }

    [Fact]
    public void Start_FailsAgainAndAgain_IsLoggedOnceAMinute()
    {
        using var logs = new CollectedLogs();
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = MaxBlockingThreads };
        var workers = new RequestScheduler(options, Platform, Clock, logs.CreateLogger("")).Workers;
        Platform.HasThreads = false;
        workers.EnsureSpare();
        workers.EnsureSpare();
        Clock.Advance(TimeSpan.FromMinutes(1) - TimeSpan.FromTicks(1));
        workers.EnsureSpare();
        Clock.Advance(TimeSpan.FromTicks(1));
        workers.EnsureSpare();

        SpinWait.SpinUntil(() => logs.All.Count == 2, Waiting.Patience);
        Assert.Equal(2, logs.All.Count);
    }

    /// <summary>Its stack and caches are warm, and the others can end.</summary>
    [Fact]
    public void IdleThreads_LastIsWokenFirstAndAllButOneRetire()
    {
        Workers.Run(new TestLoop().Queue);
        Workers.Run(new TestLoop().Queue);
        Platform.RunAll();
        Platform.Started.ForEach(static thread => thread.TakeWake());

        Workers.Run(new TestLoop().Queue);
        Assert.Equal([false, true], Platform.Started.Select(static thread => thread.IsWoken));
        Assert.Equal(TimeSpan.Zero, Platform.Started[1].Step());
        Assert.Equal(TimeSpan.Zero, Platform.Started[1].Step());
        Assert.Equal(Worker.IdleTime, Platform.Started[1].Step());

        Assert.Null(Platform.Started[0].Step());
        Assert.Equal(Worker.IdleTime, Platform.Started[1].Step());
        Assert.Equal(1, Workers.Count);
    }
}
