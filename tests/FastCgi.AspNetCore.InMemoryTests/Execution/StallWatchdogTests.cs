namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>How the watchdog handles calls, sample by sample.</summary>
public sealed class StallWatchdogTests : SchedulerTest
{
    private readonly FakeProbe _probe = new();

    private Worker OnLoop
    {
        get
        {
            if (field is null)
            {
                field = Scheduler.CreateWorker();
                field.Probe = _probe.Probe;
                Scheduler.Lend(field, Loop);
            }

            return field;
        }
    }

    /// <summary>
    /// A thread that sleeps leaves its processor idle; one that computes for long shares it. If the system does not
    /// report what a thread does, or no descriptor is left, time decides.
    /// </summary>
    [Theory]
    [InlineData(nameof(Hold.Loop), "sleeps", 2, nameof(Hold.Thread))]
    [InlineData(nameof(Hold.Loop), "waits for a processor", 100, nameof(Hold.Loop))]
    [InlineData(nameof(Hold.Loop), "unknown", 4, nameof(Hold.Thread))]
    [InlineData(nameof(Hold.Loop), "no probe", 4, nameof(Hold.Thread))]
    [InlineData(nameof(Hold.Loop), "computes", 2, nameof(Hold.Seat))]
    [InlineData(nameof(Hold.Loop), "computes a little less", 2, nameof(Hold.Loop))]
    [InlineData(nameof(Hold.Seat), "sleeps", 2, nameof(Hold.Thread))]
    [InlineData(nameof(Hold.Seat), "computes", 11, nameof(Hold.Thread))]
    public void SameCall_AtEachSample_KeepsItsHoldUntil(string hold, string how, int samples, string then)
    {
        var worker = hold == nameof(Hold.Loop) ? OnLoop : OnSeat();
        worker.Probe = how switch
        {
            "no probe" => null,
            "unknown" => new ThreadProbe(static () => -1, static () => null),
            _ => _probe.Probe,
        };
        _probe.Sleeps = how == "sleeps";
        worker.Enter(response: null, new PathKey("/"));

        for (var i = 1; i < samples; i++)
        {
            Sample();
            Assert.Equal(hold, HoldOf(worker).ToString());
            _probe.Time += how switch
            {
                "computes" => 200_000,
                "computes a little less" => 199_999,
                _ => 1_000,
            };
        }

        Sample();

        Assert.Equal(then, worker.Leave().ToString());
        Assert.Equal(then == nameof(Hold.Thread) ? 1 : 0, Workers.BlockedCount);
        Platform.RunAll();
        Assert.Equal(hold == nameof(Hold.Loop) && then != hold ? [BatchSource.Wait] : [], Loop.Asked);
        Scheduler.GiveBack(worker);
    }

    /// <summary>Without an earlier time, there is nothing to compare with.</summary>
    [Fact]
    public void SameCall_ProcessorTimeWasUnknownBefore_IsNotComputing()
    {
        _probe.Time = -1;
        Enter();
        Sample();
        _probe.Time = 1_000_000;
        Sample();

        Assert.Equal(Hold.Loop, OnLoop.Leave());
    }

    [Fact]
    public async Task Seat_Released_NextRequestRuns()
    {
        Occupy(Hold.Seat, Platform.Processors - 1);
        var worker = OnSeat();
        worker.Enter(response: null, new PathKey("/"));
        _probe.Sleeps = true;
        var ready = FrontEnd.Receive(RecordBytes.Get());
        Workers.Run(new WorkItem((FastCgiRequest)ready.RemoveFirst()), Hold.Seat);
        Platform.RunAll();
        Assert.Equal(0, FrontEnd.Transport.SendCount);

        Sample(2);
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync();
        worker.Leave();
        Scheduler.GiveBack(worker);
    }

    [Fact]
    public void AnotherCallEachTime_KeepsTheLoop()
    {
        _probe.Sleeps = true;
        for (var i = 0; i < 10; i++)
        {
            Enter();
            Assert.Equal(1, Scheduler.Watchdog.Sample().Calls);
            Assert.Equal(Hold.Loop, OnLoop.Leave());
        }

        Assert.Equal(0, Scheduler.Watchdog.Sample().Calls);
    }

    [Fact]
    public void AnotherCall_IsSampledAnew()
    {
        OnLoop.Probe = null;
        for (var i = 0; i < 2; i++)
        {
            Enter();
            Sample(3);
            Assert.Equal(Hold.Loop, OnLoop.Leave());
        }
    }

    /// <summary>What the server owes needs the loop.</summary>
    [Fact]
    public void NoThreadIsLeftForHandlersThatBlock_LoopIsTakenAllTheSame()
    {
        Occupy(Hold.Thread, MaxBlockingThreads);
        Assert.False(Workers.IsOverfull);
        _probe.Sleeps = true;
        Enter();

        Sample(2);

        Assert.Equal(Hold.Thread, OnLoop.Leave());
        Assert.True(Workers.IsOverfull);
        Scheduler.GiveBack(OnLoop);
        Assert.False(Workers.IsOverfull);
    }

    /// <summary>Each processor computes for long, and short requests may wait in the loop.</summary>
    [Fact]
    public void LoopWithoutAThread_EverySeatIsTaken_GetsOneAtTheSecondSample()
    {
        Occupy(Hold.Seat, Platform.Processors);
        Learn("/x1", microseconds: 500);
        Learn("/y1");
        Loop.Ends = false;
        Assert.False(Run(RecordBytes.Get(1, "/x1")));
        Loop.Ends = true;
        Loop.Receive(FrontEnd, RecordBytes.Get(2, "/y1"));

        Sample();
        Platform.RunAll();
        Assert.Equal(0, FrontEnd.Transport.SendCount);
        Sample();
        Platform.RunAll();

        Assert.Equal(
            2, Assert.Single(FrontEnd.ReadAvailable(), static record => record.Type == RecordBytes.EndRequest).Id);
        GiveBackAll();
        Sample();
    }

    [Fact]
    public void Step_NothingForLong_ParksUntilActivity()
    {
        ParkWatchdog();
        Assert.True(Scheduler.Watchdog.IsParked);
        Assert.False(Watchdog.IsWoken);

        Enter();
        Scheduler.Watchdog.OnActivity();

        Assert.True(Watchdog.IsWoken);
        Watchdog.TakeWake();
        Assert.Equal(StallWatchdog.ShortInterval, Watchdog.Step());
    }

    /// <summary>A thread that begins at this moment may not have seen that it must wake the watchdog.</summary>
    [Fact]
    public void Step_CallBeginsWhileItParks_DoesNotPark()
    {
        Scheduler.Watchdog.Start();
        for (var i = 0; i < 49; i++)
            Assert.True(Watchdog.Step() > TimeSpan.Zero);
        Platform.OnBarrier = () =>
        {
            Assert.True(Scheduler.Watchdog.IsParked);
            Enter();
        };

        Assert.NotEqual(Timeout.InfiniteTimeSpan, Watchdog.Step());
        Assert.NotEqual(0, OnLoop.CurrentCall);
        Assert.Equal(StallWatchdog.ShortInterval, Watchdog.Step());
        Assert.False(Scheduler.Watchdog.IsParked);
    }

    [Fact]
    public void Stop_WhileParked_EndsTheThread()
    {
        ParkWatchdog();

        Scheduler.Watchdog.Stop();
        Scheduler.Watchdog.Stop();

        Assert.True(Watchdog.IsWoken);
        Watchdog.TakeWake();
        Assert.Null(Watchdog.Step());
        // A handler may outlive the server.
        Scheduler.Watchdog.OnActivity();
        Scheduler.Stop();
    }

    [Theory]
    [InlineData(7, 4)]
    [InlineData(8, 1)]
    public void Step_ManyCallsSinceTheLast_NextIsSooner(int calls, int milliseconds)
    {
        Scheduler.Watchdog.Start();
        for (var i = 0; i < calls; i++)
        {
            Enter();
            OnLoop.Leave();
        }

        Assert.Equal(TimeSpan.FromMilliseconds(milliseconds), Watchdog.Step());
    }

    [Fact]
    public void Step_OccasionalShortCalls_DoesNotPark()
    {
        Scheduler.Watchdog.Start();
        for (var i = 0; i < 200; i++)
        {
            if (i % 49 == 0)
            {
                Enter();
                OnLoop.Leave();
            }

            Assert.NotEqual(Timeout.InfiniteTimeSpan, Watchdog.Step());
        }
    }

    private static Hold HoldOf(Worker worker) => Worker.GetHold(worker.CurrentCall);

    private Worker OnSeat()
    {
        var worker = Scheduler.Occupy(Hold.Seat);
        worker.Probe = _probe.Probe;
        return worker;
    }

    private void Enter() => OnLoop.Enter(response: null, new PathKey("/"));

    private void Sample(int count = 1)
    {
        for (var i = 0; i < count; i++)
            Scheduler.Watchdog.Sample();
    }
}
