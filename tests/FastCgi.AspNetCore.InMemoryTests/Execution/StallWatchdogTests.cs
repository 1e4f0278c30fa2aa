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

    [Fact]
    public void SameCall_OnSleepingThread_LosesTheLoopAtTheSecondSample()
    {
        _probe.Sleeps = true;
        Enter();

        Sample();
        Assert.Equal(Hold.Loop, HoldOf(OnLoop));
        Sample();

        Assert.Equal(Hold.Thread, OnLoop.Leave());
        Assert.Equal(1, Workers.BlockedCount);
        Assert.Null(OnLoop.Loop);
        Platform.RunAll();
        Assert.Equal([BatchSource.Wait], Loop.Asked);
        Scheduler.GiveBack(OnLoop);
    }

    [Fact]
    public void SameCall_OnThreadThatWaitsForAProcessor_KeepsTheLoop()
    {
        Enter();
        for (var i = 0; i < 100; i++)
        {
            // Now and then it gets one for a moment.
            _probe.Time += i % 10 == 0 ? 10_000 : 0;
            Sample();
        }

        Assert.Equal(Hold.Loop, OnLoop.Leave());
    }

    /// <summary>If /proc is hidden, or no descriptor is left, time decides.</summary>
    [Theory, Values(true, false)]
    public void SameCall_SystemDoesNotReportThreads_LosesTheLoopAtTheFourth(bool hasProbe)
    {
        OnLoop.Probe = hasProbe ? new ThreadProbe(static () => -1, static () => null) : null;
        Enter();
        Sample(3);
        Assert.Equal(Hold.Loop, HoldOf(OnLoop));

        Sample();

        Assert.Equal(Hold.Thread, OnLoop.Leave());
        Scheduler.GiveBack(OnLoop);
    }

    [Theory]
    [InlineData(199_999, nameof(Hold.Loop))]
    [InlineData(200_000, nameof(Hold.Seat))]
    public void SameCall_ThreadComputes_TakesASeatAndLosesTheLoop(long nanoseconds, string hold)
    {
        Enter();
        Sample();
        _probe.Time += nanoseconds;
        Sample();

        Assert.Equal(hold, OnLoop.Leave().ToString());
        Assert.Equal(0, Workers.BlockedCount);
        Scheduler.GiveBack(OnLoop);
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

    /// <summary>A thread that sleeps leaves its processor idle. One that computes for long shares it.</summary>
    [Theory]
    [InlineData(true, 2)]
    [InlineData(false, 11)]
    public void Seat_CallSleepsOrComputesForLong_IsReleased(bool sleeps, int samples)
    {
        var worker = OnSeat();
        worker.Enter(response: null, path: default);
        _probe.Sleeps = sleeps;
        for (var i = 1; i < samples; i++)
        {
            Sample();
            _probe.Time += 1_000_000;
        }

        Assert.Equal(Hold.Seat, HoldOf(worker));
        Sample();

        Assert.Equal(Hold.Thread, worker.Leave());
        Scheduler.GiveBack(worker);
    }

    [Fact]
    public async Task Seat_Released_NextRequestRuns()
    {
        Occupy(Hold.Seat, Platform.Processors - 1);
        var worker = OnSeat();
        worker.Enter(response: null, path: default);
        _probe.Sleeps = true;
        var ready = FrontEnd.Receive(RecordBytes.Get());
        Scheduler.RunElsewhere(ref ready, FrontEnd.Transport.Connection.Output, isLoop: true);
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

    private void Enter() => OnLoop.Enter(response: null, path: default);

    private void Sample(int count = 1)
    {
        for (var i = 0; i < count; i++)
            Scheduler.Watchdog.Sample();
    }
}
