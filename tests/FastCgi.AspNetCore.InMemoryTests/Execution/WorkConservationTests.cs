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
        Workers.Run(new WorkItem(Action: () => isDone = true), Permit.None);
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
        Workers.Run(new WorkItem((FastCgiRequest)ready.RemoveFirst()), Permit.Seat);
        Platform.HasThreads = true;

        Step();
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>Otherwise, handlers that block unexpectedly would keep each loop from what the server owes.</summary>
    [Theory, Values(FastCgiApplicationScheduling.Auto, FastCgiApplicationScheduling.Inline)]
    public async Task ApplicationHasAThreadTooMany_ItsRequestsWait_ResponsesOfTheServerDoNot(
        FastCgiApplicationScheduling scheduling)
    {
        var scheduler = CreateScheduler(scheduling);
        scheduler.Workers.EndFirst();
        scheduler.Predictor.OnMeasured(new PathKey("/short"), new CallCost(1, null));
        var occupied = new List<Worker>();
        for (var i = 0; i <= MaxBlockingThreads; i++)
            occupied.Add(scheduler.Occupy(Permit.Thread));

        Assert.True(Run(scheduler, RecordBytes.Get(1, "/short"), RecordBytes.Get(2, method: string.Empty)));
        Platform.RunAll();

        Assert.Equal(400, (await FrontEnd.ReadResponseAsync(2)).Status);
        Assert.Equal(1, scheduler.Workers.WaitingCount);
        occupied.ForEach(scheduler.GiveBack);
        scheduler.Watchdog.Sample();
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync(1);
    }

    /// <summary>Handlers that compute longer than expected use as many threads as those that block.</summary>
    [Fact]
    public void SeatsAreExceeded_CountsAsThreads()
    {
        Occupy(Permit.Seat, Platform.Processors + MaxBlockingThreads);
        Assert.True(Workers.IsFull);
        Assert.False(Workers.IsOverfull);

        Occupy(Permit.Seat, 1);

        Assert.True(Workers.IsOverfull);
    }

    /// <summary>The thread of a loop sleeps, so its processor is idle.</summary>
    [Fact]
    public async Task LoopSleeps_RequestThatComputesGetsItsProcessor()
    {
        StartTwo();
        Occupy(Permit.Seat, Platform.Processors - 1);
        Lend(isSleeping: true);
        Workers.Run(new WorkItem(Receive()), Permit.Seat, processors: 1);
        Assert.False(Platform.Started[1].IsWoken);

        Scheduler.Watchdog.Sample();

        Assert.True(Platform.Started[1].IsWoken);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>A loop without events leaves its processor idle, so another loop must not wait for that.</summary>
    [Fact]
    public async Task LoopWaitsForEvents_AnotherHasNoThread_ThreadIsWokenForIt()
    {
        StartTwo();
        var wasWoken = false;
        RunQueue[] loops = [new(TryBegin), new(TryBegin)];
        Occupy(Permit.Seat, Platform.Processors - 1);
        var last = Scheduler.Occupy(Permit.Seat);
        Workers.Run(new WorkItem(Receive()), Permit.Seat);
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
        Occupy(Permit.Seat, Platform.Processors);
        var loop = new TestLoop();
        if (isLeft)
        {
            var ready = FrontEnd.Receive(RecordBytes.Get(2));
            loop.Queue.Begin(ref ready, FrontEnd.Transport.Connection.Output);
        }

        Workers.Run(new WorkItem(Receive()), Permit.Seat);
        Workers.Run(loop.Queue);
        GiveBackAll();
        Assert.Equal(TimeSpan.Zero, Platform.Started[1].Step());

        Assert.Equal(isLeft, Platform.Started[0].IsWoken);
        Platform.RunAll();
        if (isLeft)
            await FrontEnd.ReadResponseAsync(2);
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>Another request was left to the thread that took the loop, but that has found a batch.</summary>
    [Fact]
    public async Task LoopIsTaken_ABatchArrives_AnotherThreadIsWokenForTheRequestThatComputes()
    {
        StartTwo();
        Occupy(Permit.Seat, Platform.Processors);
        var loop = new TestLoop();
        loop.Receive(FrontEnd, RecordBytes.Get(2, "/batch"));
        var wasWoken = false;
        Application = context =>
        {
            wasWoken |= context.Request.Path == "/batch" && Platform.Started[0].IsWoken;
            return Apps.Target(context);
        };
        Workers.Run(new WorkItem(Receive()), Permit.Seat);
        Workers.Run(loop.Queue);
        GiveBackAll();
        Platform.Started[1].Step();
        Assert.False(Platform.Started[0].IsWoken);

        Platform.Started[1].Step();

        Assert.True(wasWoken);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync(2);
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>
    /// How many more requests that sleep may run at once, on two processors. Words: <c>+50</c> and <c>-50</c> are calls
    /// that begin or end, <c>delayed</c> is a call of 100 µs that waited for a processor, <c>slept</c> one that did
    /// not, <c>delayed:1000/20</c> one that took and computed for so long, and <c>period</c> is that of the samples.
    /// </summary>
    [Theory]
    // More do not run while those that run wait for a processor. When they no longer do, more run again.
    [InlineData(100, "+50 100*delayed -50 =12 slept =13 period =13 period =100")]
    // Those that sleep for long use no processor, however many they are.
    [InlineData(100, "+50 2*period 100*delayed =12 +1 =11 -51 =12")]
    // 500 handlers that compute for a 250th of their time keep both processors busy. If fewer wait for a processor, it
    // is for the load of others, which does not end because fewer run.
    [InlineData(1_000, "100*delayed:50000/200 =500")]
    [InlineData(1_000, "100*delayed:1000/100 =20")]
    [InlineData(1_000, "100*delayed:1000/500 =12")]
    public void CallsThatSleep_AreDelayed_FewerRunAtOnce(int maxBlocking, string script)
    {
        var scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto, maxBlocking);
        scheduler.Workers.EndFirst();
        scheduler.Watchdog.Start();
        var occupied = new Stack<Worker>();
        foreach (var word in script.Split(' '))
        {
            var number = int.TryParse(word.Split('*')[0].TrimStart('='), out var given) ? Math.Abs(given) : 1;
            Action act = word.Split('*')[^1].Split(':', '/') switch
            {
                ["slept"] => () => scheduler.Workers.OnSlept(new CallCost(100, IsAsleep: true, 100, 20)),
                ["delayed"] => () => scheduler.Workers.OnSlept(new CallCost(100, IsAsleep: true, 101, 20)),
                ["delayed", var length, var processor] => () => scheduler.Workers.OnSlept(
                    new CallCost(int.Parse(length), IsAsleep: true, int.Parse(length) + 1, int.Parse(processor))),
                ["period"] => () => Sample(scheduler, 1),
                _ when word[0] == '=' => () => Assert.Equal(number, scheduler.Workers.ThreadRoom),
                _ when word[0] == '+' => () => occupied.Push(scheduler.Occupy(Permit.Thread)),
                _ => () => scheduler.GiveBack(occupied.Pop()),
            };
            for (var i = 0; i < (word[0] == '=' ? 1 : number); i++)
                act();
        }
    }

    /// <summary>Running requests may wait for this one, and nothing else wakes the watchdog.</summary>
    [Fact]
    public void RequestWaitsForThreadsOfRequestsThatSleep_WatchdogIsParked_SamplesUntilItRuns()
    {
        var scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto, maxBlocking: 100);
        scheduler.Workers.EndFirst();
        scheduler.Watchdog.Start();
        scheduler.Workers.OnSlept(new CallCost(100, IsAsleep: true, Delayed: 101, Processor: 20));
        var occupied = Enumerable.Range(0, 12).Select(_ => scheduler.Occupy(Permit.Thread)).ToList();
        Assert.Equal(0, scheduler.Workers.ThreadRoom);
        while (Watchdog.Step() != Timeout.InfiniteTimeSpan)
        {
        }

        scheduler.Workers.Run(new WorkItem(Receive()), Permit.Thread);

        Assert.False(scheduler.Watchdog.IsParked);
        Assert.True(scheduler.Watchdog.Sample().HasWaiting);
        Sample(scheduler, 2);
        Assert.True(scheduler.Workers.ThreadRoom > 0);
        occupied.ForEach(scheduler.GiveBack);
    }

    private static void Sample(RequestScheduler scheduler, int periods)
    {
        for (var i = 0; i < periods * 16; i++)
            scheduler.Watchdog.Sample();
    }

    private FastCgiRequest Receive(string path = "/")
    {
        var ready = FrontEnd.Receive(RecordBytes.Get(1, path));
        return (FastCgiRequest)ready.RemoveFirst();
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
