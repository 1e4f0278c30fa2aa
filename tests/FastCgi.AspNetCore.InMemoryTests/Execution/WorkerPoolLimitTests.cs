namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>How many threads there are, who gets one, and what becomes of them at the end: two may be reserved, and there is one loop.</summary>
public sealed class WorkerPoolLimitTests
{
    private const int MaxThreads = 2;

    public WorkerPoolLimitTests()
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = MaxThreads };
        Scheduler = new RequestScheduler(options, Platform, TimeProvider.System, NullLogger.Instance);
    }

    private SteppedPlatform Platform { get; } = new();

    private RequestScheduler Scheduler { get; }

    private WorkerPool Workers => Scheduler.Workers;

    /// <summary>The watchdog and a spare thread start with the server.</summary>
    [Fact]
    public void EnsureSpare_WhileAThreadIsStarting_StartsNoOther()
    {
        Scheduler.Start();
        Assert.Equal(2, Platform.Started.Count);
        for (var i = 0; i < 3; i++)
            Platform.Started[1].Step();
        Workers.Run(new TestQueue());

        for (var i = 0; i < 3; i++)
            Workers.EnsureSpare();

        Assert.Equal(3, Platform.Started.Count);
    }

    [Fact]
    public void Stop_IdleThreads_AreWokenAndEndWithTheOthers()
    {
        Workers.EnsureSpare();
        Step();
        Workers.EnsureSpare();
        var idle = Assert.Single(Platform.Started);

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
        var queue = new TestQueue();
        queue.OnContinue = () =>
        {
            Workers.Stop();
            return true;
        };
        Workers.Run(queue);

        var worker = Assert.Single(Platform.Started);
        while (worker.Step() is { } wait)
            Assert.Equal(TimeSpan.Zero, wait);

        Assert.Equal(0, Workers.Count);
    }

    [Fact]
    public void TryReserve_AtTheLimit_OnlyWhenTheServerStops()
    {
        ReserveAll();
        Assert.False(Workers.TryReserve());

        Scheduler.BeginStop();

        Assert.True(Workers.TryReserve());
    }

    /// <summary>One for each reservation and one for the loop.</summary>
    [Fact]
    public void Run_MoreQueuesThanThreads_StartsNoMoreThanTheLimitUntilTheServerStops()
    {
        for (var i = 0; i < MaxThreads + 3; i++)
            Workers.Run(new TestQueue());
        Assert.Equal(MaxThreads + 1, Platform.Started.Count);
        Assert.Equal(MaxThreads + 1, Workers.Count);

        Scheduler.BeginStop();
        Workers.Run(new TestQueue());

        Assert.Equal(MaxThreads + 2, Platform.Started.Count);
        Step();
    }

    [Fact]
    public void Run_QueuesOfManyLoops_StartsSoManyThreadsAtOnceAndNoMore()
    {
        const int AtOnce = 16;
        var options = new FastCgiTransportOptions { LoopCount = 4, MaxBlockingThreads = 100 };
        var workers = new RequestScheduler(options, Platform, TimeProvider.System, NullLogger.Instance).Workers;
        Platform.HasThreads = false;
        for (var i = 0; i < AtOnce + 5; i++)
            workers.Run(new TestQueue());
        Platform.HasThreads = true;

        for (var i = 0; i < AtOnce + 5; i++)
            workers.EnsureSpare();

        Assert.Equal(AtOnce, Platform.Started.Count);
    }

    [Fact]
    public async Task Run_WhileAnotherWaits_WaitsBehindIt()
    {
        var calls = new List<string?>();
        await using var server = await TestServer.StartAsync(Apps.Do(context => calls.Add(context.Request.Path)));
        Workers.EnsureSpare();
        Step();
        ReserveAll();
        var frontEnd = server.Connect();
        var ready = frontEnd.Receive(RecordBytes.Get(1, "/1"), RecordBytes.Get(2, "/2"));
        Workers.Run(ready.RemoveFirst());
        Workers.Release();

        Workers.Run(ready.RemoveFirst());
        Assert.Equal(2, Workers.WaitingCount);
        Workers.OnLooked();
        Step();

        Assert.Equal(["/1", "/2"], calls);
        await frontEnd.ReadResponseAsync(1);
        await frontEnd.ReadResponseAsync(2);
    }

    /// <summary>Its handler may block: the thread holds one of the reservations, and another is spare.</summary>
    [Fact]
    public async Task Run_RequestWithIdleThread_HoldsAReservationAndLeavesASpareThread()
    {
        await using var server = await TestServer.StartAsync(_ =>
        {
            Assert.Equal(1, Workers.ReservedCount);
            Assert.Equal(2, Platform.Started.Count);
            return Task.CompletedTask;
        });
        Workers.EnsureSpare();
        Step();
        var (frontEnd, ready) = Receive(server);

        Workers.Run(ready.RemoveFirst());
        Assert.True(Assert.Single(Platform.Started).IsWoken);
        Platform.Started[0].Step();

        Assert.Equal(0, Workers.ReservedCount);
        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        Step();
    }

    /// <summary>The thread of a loop never comes back, so that it is none for requests.</summary>
    [Fact]
    public async Task Run_RequestAndTheSystemHasNoThreadButTheLoops_RunsOnTheThreadPool()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        var (frontEnd, ready) = Receive(server);
        var queue = new TestQueue();
        queue.OnContinue = () =>
        {
            Platform.HasThreads = false;
            Workers.Run(ready.RemoveFirst());
            return true;
        };

        Workers.Run(queue);
        Step();

        var guest = Assert.Single(Platform.OnThreadPool);
        while (guest.Step() is not null)
        {
        }

        await frontEnd.ReadResponseAsync();
    }

    /// <summary>
    /// The handler of a queue that wanted a reservation came back by itself. When one is released nobody may look any more, so that a request
    /// that waits would wait for the next one that comes.
    /// </summary>
    [Fact]
    public async Task Release_QueueWantsNoneAnyMore_RequestThatWaitsRunsWithoutAnotherLook()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        var (frontEnd, ready) = Receive(server);
        var queue = new TestQueue();
        queue.OnContinue = () =>
        {
            ReserveAll();
            Assert.False(Workers.TryReserve());
            Workers.Run(ready.RemoveFirst());
            Workers.OnLooked();
            Workers.OnLooked();
            Workers.Release();
            return true;
        };

        Workers.Run(queue);
        Step();

        Assert.Equal(0, Workers.WaitingCount);
        await frontEnd.ReadResponseAsync();
    }

    /// <summary>Else what clients who have gone had sent would stay in memory for as long as handlers block, however many they are.</summary>
    [Fact]
    public async Task Run_RequestIsAbortedWhileItWaits_IsOverThoughNoThreadIsFree()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        server.Runner = Scheduler;
        ReserveAll();
        var (frontEnd, ready) = Receive(server);
        Workers.Run(ready.RemoveFirst());
        Assert.Equal(1, Workers.WaitingCount);

        frontEnd.Transport.Connection.OnClosed(new IOException("gone"));

        Assert.Equal(0, Workers.WaitingCount);
        // The end of the server waits until all request objects are back.
    }

    /// <summary>As the request before, but the connection was closed in the instant in which a thread was looked for.</summary>
    [Fact]
    public async Task Run_RequestIsAbortedAlready_IsOverThoughNoThreadIsFree()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        ReserveAll();
        var (frontEnd, ready) = Receive(server);
        frontEnd.Transport.Connection.OnClosed(new IOException("gone"));

        Workers.Run(ready.RemoveFirst());

        Assert.Equal(0, Workers.WaitingCount);
    }

    /// <summary>.NET ends the process when its thread pool cannot start a thread: the last ones are left to it.</summary>
    [Fact]
    public void Run_ThreadsAreScarce_StartsNoneAndGoesOnOnTheThreadPool()
    {
        Platform.IsScarce = true;

        Workers.Run(new TestQueue());

        Assert.Empty(Platform.Started);
        Assert.Single(Platform.OnThreadPool);
        Platform.IsScarce = false;
        Workers.EnsureSpare();
        Assert.Single(Platform.Started);
    }

    /// <summary>Else handlers that block would take one thread of the pool after another, to the last.</summary>
    [Fact]
    public void TryReserve_ThreadsAreScarce_OnlyForSoManyThreadsOfThePool()
    {
        const int MaxGuests = 8;
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 100 };
        var workers = new RequestScheduler(options, Platform, TimeProvider.System, NullLogger.Instance).Workers;
        Platform.IsScarce = true;
        for (var i = 0; i < MaxGuests; i++)
        {
            Assert.True(workers.TryReserve());
            workers.Run(new TestQueue());
        }

        Assert.Equal(MaxGuests, Platform.OnThreadPool.Count);
        Assert.False(workers.TryReserve());

        while (Platform.OnThreadPool[0].Step() is not null)
        {
        }

        Assert.True(workers.TryReserve());
        Platform.IsScarce = false;
        workers.Run(new TestQueue());
        Assert.True(workers.TryReserve());
    }

    /// <summary>Each attempt of a busy server would add a line.</summary>
    [Fact]
    public void Start_FailsAgainAndAgain_IsToldOnceAMinute()
    {
        var clock = new FakeClock();
        using var logs = new CollectedLogs();
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = MaxThreads };
        var workers = new RequestScheduler(options, Platform, clock, logs.CreateLogger("")).Workers;
        Platform.HasThreads = false;
        workers.EnsureSpare();
        workers.EnsureSpare();
        clock.Advance(TimeSpan.FromMinutes(1) - TimeSpan.FromTicks(1));
        workers.EnsureSpare();
        Assert.Single(logs.All);

        clock.Advance(TimeSpan.FromTicks(1));
        workers.EnsureSpare();

        Assert.Equal(2, logs.All.Count);
    }

    /// <summary>It was idle, has worked since, and is idle again: the time begins anew.</summary>
    [Fact]
    public void Threads_IdleAgain_StayForTheNextBurst()
    {
        Workers.Run(new TestQueue());
        Workers.Run(new TestQueue());
        Step();
        Workers.Run(new TestQueue());
        var woken = Assert.Single(Platform.Started, static thread => thread.IsWoken);

        Assert.Equal(TimeSpan.Zero, woken.Step());
        Assert.Equal(Worker.IdleTime, woken.Step());
        Workers.Run(new TestQueue());
        Workers.Run(new TestQueue());

        Assert.Equal(2, Platform.Started.Count(static thread => thread.IsWoken));
        Assert.Equal(2, Workers.Count);
        Step();
    }

    /// <summary>Its stack and its caches are warm, and the others can end.</summary>
    [Fact]
    public void Run_QueueWithSeveralIdleThreads_WakesTheOneThatBecameIdleLast()
    {
        Workers.Run(new TestQueue());
        Workers.Run(new TestQueue());
        Step();
        Platform.Started.ForEach(static thread => thread.TakeWake());

        Workers.Run(new TestQueue());

        Assert.Equal([false, true], Platform.Started.Select(static thread => thread.IsWoken));
    }

    [Fact]
    public async Task Release_WithAStalledQueueAndARequestThatWait_IsForTheQueue()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        ReserveAll();
        Assert.False(Workers.TryReserve());
        var (frontEnd, ready) = Receive(server);
        Workers.Run(ready.RemoveFirst());

        Workers.Release();
        Step();

        Assert.Equal(1, Workers.WaitingCount);
        Assert.True(Workers.TryReserve());
        Workers.Release();
        // The queue does not want it any more.
        Workers.OnLooked();
        Step();
        Assert.Equal(0, Workers.WaitingCount);
        await frontEnd.ReadResponseAsync();
    }

    [Fact]
    public void Threads_Idle_RetireButTheLast()
    {
        Workers.Run(new TestQueue());
        Workers.Run(new TestQueue());
        Step();
        Assert.Equal(2, Workers.Count);

        Assert.Null(Platform.Started[0].Step());
        Assert.Equal(Worker.IdleTime, Platform.Started[1].Step());
        Assert.Equal(1, Workers.Count);

        Workers.Stop();
        Workers.Stop();
        Assert.Null(Platform.Started[1].Step());
    }

    private void ReserveAll()
    {
        for (var i = 0; i < MaxThreads; i++)
            Assert.True(Workers.TryReserve());
    }

    private static (FrontEnd FrontEnd, ReadyRequests Ready) Receive(TestServer server)
    {
        var frontEnd = server.Connect();
        return (frontEnd, frontEnd.Receive(RecordBytes.Get()));
    }

    /// <summary>Lets each thread do what there is to do, once.</summary>
    private void Step()
    {
        for (var i = 0; i < Platform.Started.Count; i++)
        {
            while (Platform.Started[i].Step() == TimeSpan.Zero)
            {
            }
        }
    }
}
