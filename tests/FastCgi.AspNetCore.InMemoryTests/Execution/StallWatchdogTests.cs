namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>What the watchdog makes of calls, look by look.</summary>
public class StallWatchdogTests
{
    private readonly SteppedPlatform _platform = new();
    private readonly FakeProbe _probe = new() { Sleeps = false };
    private readonly RequestScheduler _scheduler;
    private readonly TestQueue _queue;

    public StallWatchdogTests()
    {
        _scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto);
        _queue = new TestQueue { Probe = _probe };
        _scheduler.Watchdog.Add(_queue);
    }

    [Fact]
    public void Look_SameCallOnSleepingThread_TakesQueueAtTheSecond()
    {
        var call = Enter();
        _probe.Sleeps = true;

        _scheduler.Watchdog.Look();
        Assert.Equal(call, _queue.Queue.CurrentCall);
        _scheduler.Watchdog.Look();

        Assert.Equal(0, _queue.Queue.CurrentCall);
        Assert.False(_queue.Queue.TryLeave(call));
        Assert.Equal(1, _scheduler.Workers.ReservedCount);
        RunWorkers();
        Assert.Equal(1, _queue.ContinueCount);
    }

    [Fact]
    public void Look_SameCallOnThreadThatWaitsForAProcessor_LeavesQueue()
    {
        var call = Enter();
        for (var i = 0; i < 100; i++)
        {
            // Now and then it gets one for a moment.
            _probe.Time += i % 10 == 0 ? 10_000 : 0;
            _scheduler.Watchdog.Look();
        }

        Assert.True(_queue.Queue.TryLeave(call));
    }

    /// <summary>Where /proc is hidden, or no descriptor is left, time tells.</summary>
    [Theory, Values(true, false)]
    public void Look_SystemDoesNotTellWhatTheThreadDoes_TakesQueueAtTheFourth(bool hasProbe)
    {
        _queue.Queue.Probe = hasProbe ? new ThreadProbe(static () => -1, static () => null) : null;
        var call = Enter();
        for (var i = 0; i < 3; i++)
            _scheduler.Watchdog.Look();
        Assert.Equal(call, _queue.Queue.CurrentCall);

        _scheduler.Watchdog.Look();

        Assert.False(_queue.Queue.TryLeave(call));
    }

    [Fact]
    public void Look_OtherCallEachTime_LeavesQueue()
    {
        _probe.Sleeps = true;
        for (var i = 0; i < 10; i++)
        {
            var call = Enter();
            Assert.Equal(1, _scheduler.Watchdog.Look().Calls);
            Assert.True(_queue.Queue.TryLeave(call));
        }

        Assert.Equal(0, _scheduler.Watchdog.Look().Calls);
    }

    [Fact]
    public void Look_NoReservationLeft_TakesQueueWhenThereIsOne()
    {
        for (var i = 0; i < 2; i++)
            Assert.True(_scheduler.Workers.TryReserve());
        var call = Enter();
        _probe.Sleeps = true;
        for (var i = 0; i < 10; i++)
            _scheduler.Watchdog.Look();
        Assert.Equal(call, _queue.Queue.CurrentCall);

        _scheduler.Workers.Release();
        _scheduler.Watchdog.Look();

        Assert.Equal(0, _queue.Queue.CurrentCall);
    }

    [Fact]
    public void Look_Inline_TakesQueueOnlyWhenTheServerStops()
    {
        var scheduler = CreateScheduler(FastCgiApplicationScheduling.Inline);
        scheduler.Watchdog.Add(_queue);
        var call = Enter();
        _probe.Sleeps = true;
        for (var i = 0; i < 10; i++)
            scheduler.Watchdog.Look();
        Assert.Equal(call, _queue.Queue.CurrentCall);

        scheduler.BeginStop();
        scheduler.Watchdog.Look();

        Assert.Equal(0, _queue.Queue.CurrentCall);
    }

    [Fact]
    public void Step_NothingForLong_ParksUntilActivity()
    {
        var watchdog = Park();
        Assert.True(_scheduler.Watchdog.IsParked);
        Assert.False(watchdog.IsWoken);

        Enter();
        _scheduler.Watchdog.OnActivity();

        Assert.True(watchdog.IsWoken);
        watchdog.TakeWake();
        Assert.Equal(StallWatchdog.ShortInterval, watchdog.Step());
    }

    /// <summary>Whoever begins in this instant may not have seen that it must wake the watchdog.</summary>
    [Fact]
    public void Step_CallBeginsWhileItParks_DoesNotPark()
    {
        _scheduler.Watchdog.Start();
        var watchdog = Assert.Single(_platform.Started);
        for (var i = 0; i < 49; i++)
            Assert.True(watchdog.Step() > TimeSpan.Zero);
        // Nobody is told of the call: it begins behind the last look, and in front of the one that the watchdog takes as it parks.
        var hasBegun = false;
        _platform.OnBarrier = () =>
        {
            hasBegun = true;
            Assert.True(_scheduler.Watchdog.IsParked);
            Enter();
        };

        Assert.NotEqual(Timeout.InfiniteTimeSpan, watchdog.Step());
        Assert.True(hasBegun);
        Assert.Equal(StallWatchdog.ShortInterval, watchdog.Step());
        Assert.False(_scheduler.Watchdog.IsParked);
    }

    [Fact]
    public void Stop_WhileParked_EndsTheThread()
    {
        var watchdog = Park();

        _scheduler.Watchdog.Stop();
        _scheduler.Watchdog.Stop();

        Assert.True(watchdog.IsWoken);
        watchdog.TakeWake();
        Assert.Null(watchdog.Step());
        // A handler may outlive the server.
        _scheduler.Watchdog.OnActivity();
        _scheduler.Stop();
    }

    [Fact]
    public void Look_AnotherCall_IsLookedAtAnew()
    {
        _queue.Queue.Probe = null;
        var first = Enter();
        for (var i = 0; i < 3; i++)
            _scheduler.Watchdog.Look();
        Assert.True(_queue.Queue.TryLeave(first));

        var call = Enter();
        for (var i = 0; i < 3; i++)
            _scheduler.Watchdog.Look();

        Assert.True(_queue.Queue.TryLeave(call));
    }

    /// <summary>The time is told for the first time: nothing to compare it with.</summary>
    [Fact]
    public void Look_ProcessorTimeWasNotToldBefore_IsNoComputing()
    {
        _probe.Time = -1;
        var call = Enter();
        _scheduler.Watchdog.Look();
        _probe.Time = 1_000_000;
        _scheduler.Watchdog.Look();

        Assert.True(_queue.Queue.TryLeave(call));
    }

    [Theory]
    [InlineData(199_999, false)]
    [InlineData(200_000, true)]
    public void Look_ThreadHasComputedForAWhile_TakesQueueFromAFifthOfAMillisecondOn(long nanoseconds, bool isTaken)
    {
        var call = Enter();
        _scheduler.Watchdog.Look();
        _probe.Time += nanoseconds;
        _scheduler.Watchdog.Look();

        Assert.Equal(!isTaken, _queue.Queue.TryLeave(call));
    }

    [Fact]
    public void Look_QueueIsTaken_AThreadIsSpareForTheNext()
    {
        Enter();
        _probe.Sleeps = true;
        _scheduler.Watchdog.Look();
        _queue.OnContinue = () => false;
        _scheduler.Workers.EnsureSpare();
        RunWorkers();
        _scheduler.Watchdog.Look();

        Assert.Equal(2, _platform.Started.Count);
    }

    [Theory]
    [InlineData(7, 4)]
    [InlineData(8, 1)]
    public void Step_CallsSinceTheLast_TheNextIsSoonerUnderLoad(int calls, int milliseconds)
    {
        _scheduler.Watchdog.Start();
        var watchdog = Assert.Single(_platform.Started);
        for (var i = 0; i < calls; i++)
            Assert.True(_queue.Queue.TryLeave(Enter()));

        Assert.Equal(TimeSpan.FromMilliseconds(milliseconds), watchdog.Step());
    }

    [Fact]
    public void Step_ShortCallsNowAndThen_DoesNotPark()
    {
        _scheduler.Watchdog.Start();
        var watchdog = Assert.Single(_platform.Started);
        for (var i = 0; i < 200; i++)
        {
            if (i % 49 == 0)
                Assert.True(_queue.Queue.TryLeave(Enter()));
            Assert.NotEqual(Timeout.InfiniteTimeSpan, watchdog.Step());
        }
    }

    private ThreadBody Park()
    {
        _scheduler.Watchdog.Start();
        var watchdog = Assert.Single(_platform.Started);
        for (var i = 0; i < 49; i++)
            Assert.NotEqual(Timeout.InfiniteTimeSpan, watchdog.Step());
        Assert.Equal(Timeout.InfiniteTimeSpan, watchdog.Step());
        return watchdog;
    }

    private RequestScheduler CreateScheduler(FastCgiApplicationScheduling scheduling)
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2, ApplicationScheduling = scheduling };
        return new RequestScheduler(options, _platform, TimeProvider.System, NullLogger.Instance);
    }

    private long Enter() => _queue.Queue.Enter(response: null, path: default);

    private void RunWorkers() => _platform.RunAll();
}
