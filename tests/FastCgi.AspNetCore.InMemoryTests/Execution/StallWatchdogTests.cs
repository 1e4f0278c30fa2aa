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
    [InlineData(nameof(Permit.Loop), "sleeps", 2, nameof(Permit.Thread))]
    [InlineData(nameof(Permit.Loop), "waits for a processor", 100, nameof(Permit.Loop))]
    [InlineData(nameof(Permit.Loop), "unknown", 4, nameof(Permit.Thread))]
    [InlineData(nameof(Permit.Loop), "no probe", 4, nameof(Permit.Thread))]
    [InlineData(nameof(Permit.Loop), "computes", 2, nameof(Permit.Seat))]
    [InlineData(nameof(Permit.Loop), "computes a little less", 2, nameof(Permit.Loop))]
    [InlineData(nameof(Permit.Seat), "sleeps", 2, nameof(Permit.Thread))]
    [InlineData(nameof(Permit.Seat), "computes", 11, nameof(Permit.Thread))]
    public void SameCall_AtEachSample_KeepsItsHoldUntil(string permit, string how, int samples, string then)
    {
        var worker = permit == nameof(Permit.Loop) ? OnLoop : OnSeat();
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
            Assert.Equal(permit, HoldOf(worker).ToString());
            _probe.Time += how switch
            {
                "computes" => 200_000,
                "computes a little less" => 199_999,
                _ => 1_000,
            };
        }

        Sample();

        Assert.Equal(then, worker.Leave().ToString());
        Assert.Equal(then == nameof(Permit.Thread) ? 1 : 0, Workers.BlockedCount);
        Platform.RunAll();
        Assert.Equal(permit == nameof(Permit.Loop) && then != permit ? [BatchSource.Wait] : [], Loop.Asked);
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

        Assert.Equal(Permit.Loop, OnLoop.Leave());
    }

    [Fact]
    public async Task Seat_Released_NextRequestRuns()
    {
        Occupy(Permit.Seat, Platform.Processors - 1);
        var worker = OnSeat();
        worker.Enter(response: null, new PathKey("/"));
        _probe.Sleeps = true;
        var ready = FrontEnd.Receive(RecordBytes.Get());
        Workers.Run(new WorkItem((FastCgiRequest)ready.RemoveFirst()), Permit.Seat);
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
            Assert.Equal(Permit.Loop, OnLoop.Leave());
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
            Assert.Equal(Permit.Loop, OnLoop.Leave());
        }
    }

    /// <summary>What the server owes needs the loop.</summary>
    [Fact]
    public void NoThreadIsLeftForHandlersThatBlock_LoopIsTakenAllTheSame()
    {
        Occupy(Permit.Thread, MaxBlockingThreads);
        Assert.False(Workers.IsOverfull);
        _probe.Sleeps = true;
        Enter();

        Sample(2);

        Assert.Equal(Permit.Thread, OnLoop.Leave());
        Assert.True(Workers.IsOverfull);
        Scheduler.GiveBack(OnLoop);
        Assert.False(Workers.IsOverfull);
    }

    /// <summary>Each processor computes for long, and short requests may wait in the loop.</summary>
    [Fact]
    public void LoopWithoutAThread_EverySeatIsTaken_GetsOneAtTheSecondSample()
    {
        Occupy(Permit.Seat, Platform.Processors);
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

    private static Permit HoldOf(Worker worker) => Worker.GetPermit(worker.CurrentCall);

    private Worker OnSeat()
    {
        var worker = Scheduler.Occupy(Permit.Seat);
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
