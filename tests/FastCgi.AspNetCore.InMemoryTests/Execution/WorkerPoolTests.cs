namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>How many threads there are, and who gets one.</summary>
public sealed class WorkerPoolTests : WorkerPoolTest
{
    [Fact]
    public void EnsureSpare_SeveralTimes_StartsOne()
    {
        for (var i = 0; i < 5; i++)
            Workers.EnsureSpare();

        Step();
        Workers.EnsureSpare();

        Assert.Single(Platform.Started);
    }

    [Fact]
    public void EnsureSpare_WhileAThreadIsStarting_StartsNoOther()
    {
        Workers.EnsureSpare();
        for (var i = 0; i < 3; i++)
            Step();
        Workers.Run(new TestQueue());

        for (var i = 0; i < 3; i++)
            Workers.EnsureSpare();

        Assert.Equal(2, Platform.Started.Count);
    }

    [Fact]
    public void Run_QueueWithIdleThread_WakesIt()
    {
        Workers.EnsureSpare();
        Step();
        var queue = new TestQueue();

        Workers.Run(queue);

        Assert.True(Assert.Single(Platform.Started).IsWoken);
        Step();
        Assert.Equal(1, queue.ContinueCount);
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
    public void Run_QueueThatIsTaken_ReservationIsReleasedWhenItsThreadComesBack()
    {
        var queue = new TestQueue();
        queue.OnContinue = () =>
        {
            Assert.True(Workers.TryReserve());
            return false;
        };

        Workers.Run(queue);
        Step();

        Assert.Equal(0, Workers.ReservedCount);
    }

    [Fact]
    public void Run_QueueThatEnds_ReleasesNothing()
    {
        Workers.Run(new TestQueue());
        Step();

        Assert.Equal(0, Workers.ReservedCount);
    }

    [Fact]
    public async Task Run_RequestsBeyondTheLimit_WaitForThreads()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        ReserveAll();
        var (frontEnd, ready) = Receive(server);

        Workers.Run(ready.RemoveFirst());
        Step();
        Assert.Equal(1, Workers.WaitingCount);

        Workers.Release();
        Scheduler.Watchdog.Look();
        Assert.True(Assert.Single(Platform.Started).IsWoken);
        Step();

        Assert.Equal(0, Workers.WaitingCount);
        Assert.Equal(MaxThreads - 1, Workers.ReservedCount);
        await frontEnd.ReadResponseAsync();
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
    public void Run_QueueAndTheSystemHasNoThread_GoesOnOnTheThreadPool()
    {
        Platform.HasThreads = false;
        var queue = new TestQueue();

        Workers.Run(queue);

        var guest = Assert.Single(Platform.OnThreadPool);
        Assert.Equal(TimeSpan.Zero, guest.Step());
        Assert.Equal(TimeSpan.Zero, guest.Step());
        Assert.Equal(1, queue.ContinueCount);
        Assert.Null(guest.Step());
        Assert.Equal(0, Workers.Count);
    }

    [Fact]
    public async Task Run_RequestAndTheSystemHasNoThreadAtAll_RunsOnTheThreadPool()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        Platform.HasThreads = false;
        var (frontEnd, ready) = Receive(server);

        Workers.Run(ready.RemoveFirst());

        while (Assert.Single(Platform.OnThreadPool).Step() is not null)
        {
        }

        await frontEnd.ReadResponseAsync();
        Assert.Equal(0, Workers.ReservedCount);
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
}
