namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Work that can be done is done, whatever the threads, the system and the handlers do.</summary>
public sealed class WorkConservationTests : SchedulerTest
{
    /// <summary>The system may refuse threads for seconds, while handlers block all others.</summary>
    [Theory, Values(1, 200)]
    public void Start_Fails_IsRepeatedUntilTheWorkIsDone(int failures)
    {
        Scheduler.Watchdog.Start();
        Platform.HasThreads = false;
        Workers.Run(Loop.Queue);
        for (var i = 0; i < failures; i++)
            Step();
        Platform.HasThreads = true;
        Step();

        Platform.RunAll();

        Assert.Equal([BatchSource.Wait], Loop.Asked);
    }

    /// <summary>Nothing else may happen for long.</summary>
    [Fact]
    public void Start_FailsWhileTheWatchdogIsParked_IsRepeated()
    {
        ParkWatchdog();
        Platform.HasThreads = false;
        var isDone = false;
        Workers.Run(new WorkItem(Action: () => isDone = true), Hold.Nothing);
        Platform.HasThreads = true;

        Assert.True(Watchdog.IsWoken);
        Step();
        Platform.RunAll();

        Assert.True(isDone);
    }

    /// <summary>The threads of the loops wait for the system, so the processors are idle.</summary>
    [Fact]
    public async Task Start_FailsForARequestThatHasWaited_IsRepeatedAlthoughEachProcessorHasALoop()
    {
        for (var i = 0; i < Platform.Processors; i++)
            Lend(isSleeping: true);
        Scheduler.Watchdog.Start();
        Platform.HasThreads = false;
        var ready = FrontEnd.Receive(RecordBytes.Get());
        Scheduler.RunElsewhere(ref ready, FrontEnd.Transport.Connection.Output, isLoop: true);
        Platform.HasThreads = true;

        Step();
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>No thread is left for the loop, but its processor is idle.</summary>
    [Fact]
    public async Task LoopBlocks_NoThreadIsLeftForIt_RequestThatComputesGetsItsProcessor()
    {
        StartTwo();
        Occupy(Hold.Thread, MaxBlockingThreads);
        Occupy(Hold.Seat, Platform.Processors - 1);
        var loop = Lend(isSleeping: true);
        loop.Enter(response: null, path: default);
        Workers.RunAfterLoop(new WorkItem(Receive()), isNext: false);
        Assert.False(Platform.Started[1].IsWoken);

        Scheduler.Watchdog.Sample();
        Scheduler.Watchdog.Sample();

        Assert.True(Platform.Started[1].IsWoken);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>The next thread that returns is for the loop, although a seat cannot be released either.</summary>
    [Fact]
    public void NoThreadIsLeftForALoopAndASeat_NextIsForTheLoop()
    {
        Occupy(Hold.Thread, MaxBlockingThreads);
        var loop = Lend(isSleeping: true);
        loop.Enter(response: null, path: default);
        var seat = Scheduler.Occupy(Hold.Seat);
        seat.Probe = loop.Probe;
        seat.Enter(response: null, path: default);
        Scheduler.Watchdog.Sample();
        Scheduler.Watchdog.Sample();
        Workers.Run(new WorkItem(Receive("/1")), Hold.Thread);

        GiveBackAll();
        Platform.RunAll();

        Assert.Equal(1, Workers.WaitingCount);
        Scheduler.Watchdog.Sample();
        Assert.Equal(Hold.Thread, loop.Leave());
        seat.Leave();
        Scheduler.GiveBack(loop);
        Scheduler.GiveBack(seat);
        Scheduler.Watchdog.Sample();
    }

    /// <summary>A loop without events leaves its processor idle, so another loop must not wait for that.</summary>
    [Fact]
    public async Task LoopWaitsForEvents_AnotherHasNoThread_ThreadIsWokenForIt()
    {
        StartTwo();
        var wasWoken = false;
        RunQueue[] loops = [new(TryBegin), new(TryBegin)];
        Occupy(Hold.Seat, Platform.Processors - 1);
        var last = Scheduler.Occupy(Hold.Seat);
        Workers.Run(new WorkItem(Receive()), Hold.Seat);
        foreach (var loop in loops)
        {
            var worker = Scheduler.CreateWorker();
            Scheduler.Lend(worker, loop);
            Assert.True(Workers.TryLeaveLoop(worker));
        }

        Scheduler.GiveBack(last);
        Workers.WakeForWaiting();
        Assert.True(Platform.Started[1].IsWoken);
        while (Platform.Started[1].Step() == TimeSpan.Zero)
        {
        }

        Assert.True(wasWoken);
        await FrontEnd.ReadResponseAsync();

        BatchResult TryBegin(BatchSource source)
        {
            wasWoken |= source == BatchSource.Wait && Platform.Started[0].IsWoken;
            return source == BatchSource.Wait ? BatchResult.Ended : BatchResult.None;
        }
    }

    /// <summary>A thread that takes a loop soon takes a request too, unless it must finish a batch first.</summary>
    [Theory, Values(true, false)]
    public async Task LoopIsTaken_RequestThatComputesWaits_AnotherThreadIsWokenIfABatchIsLeft(bool isLeft)
    {
        StartTwo();
        Occupy(Hold.Seat, Platform.Processors);
        var loop = new TestLoop();
        if (isLeft)
        {
            var ready = FrontEnd.Receive(RecordBytes.Get(2));
            loop.Queue.Begin(ref ready, FrontEnd.Transport.Connection.Output);
        }

        Workers.Run(new WorkItem(Receive()), Hold.Seat);
        Workers.Run(loop.Queue);
        GiveBackAll();
        Assert.Equal(TimeSpan.Zero, Platform.Started[1].Step());

        Assert.Equal(isLeft, Platform.Started[0].IsWoken);
        Platform.RunAll();
        if (isLeft)
            await FrontEnd.ReadResponseAsync(2);
        await FrontEnd.ReadResponseAsync();
    }

    private FastCgiRequest Receive(string path = "/")
    {
        var ready = FrontEnd.Receive(RecordBytes.Get(1, path));
        return (FastCgiRequest)ready.RemoveFirstStream();
    }

    /// <summary>Starts two threads, which are idle.</summary>
    private void StartTwo()
    {
        Workers.Run(new TestLoop().Queue);
        Workers.Run(new TestLoop().Queue);
        Platform.RunAll();
        Platform.Started.ForEach(static thread => thread.TakeWake());
        Scheduler.Watchdog.Sample();
    }

    private void Step()
    {
        Watchdog.TakeWake();
        Assert.NotEqual(Timeout.InfiniteTimeSpan, Watchdog.Step());
    }

    private Worker Lend(bool isSleeping)
    {
        var worker = Scheduler.CreateWorker();
        worker.Probe = new FakeProbe { Sleeps = isSleeping }.Probe;
        Scheduler.Lend(worker, new TestLoop());
        return worker;
    }
}
