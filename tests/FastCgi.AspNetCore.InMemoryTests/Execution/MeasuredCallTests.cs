namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>What the predictor learns from the calls of handlers.</summary>
public sealed class MeasuredCallTests : SchedulerTest
{
    /// <summary>
    /// A path sleeps if its calls sleep for at least 20 µs and more than an eighth of the time, however short that is.
    /// The time in which the thread waited for a processor does not count.
    /// </summary>
    [Theory]
    [InlineData(900, 25, 0, true)]
    [InlineData(200, 25, 0, true)]
    [InlineData(200, 174, 0, true)]
    [InlineData(200, 175, 0, false)]
    [InlineData(21, 1, 0, true)]
    [InlineData(20, 1, 0, false)]
    [InlineData(200, 25, 175, false)]
    [InlineData(5_000, 5_000, 0, false)]
    [InlineData(100_000, 5_000, 95_000, false)]
    [InlineData(100_000, 5_000, 94_000, true)]
    public async Task PathThatSleeps_IsMeasured(int microseconds, int processor, int delayed, bool sleeps)
    {
        Application = context =>
        {
            Clock.Advance(TimeSpan.FromMicroseconds(microseconds));
            var usage = Platform.Usage!.Value;
            Platform.Usage = new ThreadUsage(usage.Processor + processor, usage.Delayed + delayed);
            return Apps.Target(context);
        };
        for (var id = 1; id <= 4; id++)
        {
            Run(RecordBytes.Get(id, "/1"));
            Platform.RunAll();
            await FrontEnd.ReadResponseAsync(id);
        }

        Assert.Equal(sleeps, Scheduler.Predictor.Predict(new PathKey("/1")).Sleeps);
    }

    /// <summary>A sample may find a thread in a lock or a garbage collection.</summary>
    [Fact]
    public async Task PathThatWasSeenAsleep_Computes_ComputesAfterOneMeasuredCall()
    {
        Application = context =>
        {
            Compute(5_000);
            return Apps.Target(context);
        };
        Learn("/1", 5_000, sleeps: false);
        Scheduler.Predictor.OnStalled(new PathKey("/1"));
        Assert.True(Scheduler.Predictor.Predict(new PathKey("/1")).Sleeps);

        Run(RecordBytes.Get(1, "/1"));
        Platform.RunAll();

        await FrontEnd.ReadResponseAsync();
        Assert.False(Scheduler.Predictor.Predict(new PathKey("/1")).Sleeps);
    }

    /// <summary>On a busy machine, each call is interrupted. So such calls must count too.</summary>
    [Fact]
    public async Task PathThatComputes_EachCallIsInterrupted_IsLearnedFromTheFirst()
    {
        Application = context =>
        {
            Compute(400, delayed: 20_000);
            return Apps.Target(context);
        };

        Run(RecordBytes.Get(1, "/1"));

        await FrontEnd.ReadResponseAsync();
        var learned = Scheduler.Predictor.Predict(new PathKey("/1"));
        Assert.Equal((true, false, 400), (learned.IsKnown, learned.Sleeps, learned.Microseconds));
    }

    /// <summary>Not each call is measured, but one that takes unexpectedly long causes a measurement.</summary>
    [Fact]
    public async Task ShortPath_BecomesLong_IsLearnedWithinTenCalls()
    {
        Learn("/1", microseconds: 5, sleeps: false);
        Application = context =>
        {
            Compute(5_000);
            return Apps.Target(context);
        };

        for (var id = 1; id <= 10; id++)
        {
            Run(RecordBytes.Get(id, "/1"));
            Platform.RunAll();
            await FrontEnd.ReadResponseAsync(id);
        }

        Assert.InRange(Scheduler.Predictor.Predict(new PathKey("/1")).Microseconds, 151, int.MaxValue);
    }

    /// <summary>Samples must not be in step with paths that take turns.</summary>
    [Theory, Values(7, 8, 16)]
    public void PathThatChanges_PathsTakeTurns_IsLearned(int count)
    {
        for (var i = 0; i < count; i++)
            Learn($"/{(char)('a' + i)}", microseconds: 5, sleeps: false);
        Application = context =>
        {
            if (context.Request.Path == "/b")
                Compute(900);
            return Apps.Target(context);
        };
        for (var id = 1; id <= 40 * count; id++)
            Loop.Receive(FrontEnd, RecordBytes.Get(id, $"/{(char)('a' + (id % count))}"));

        Run();
        Platform.RunAll();

        Assert.InRange(Scheduler.Predictor.Predict(new PathKey("/b")).Microseconds, 151, int.MaxValue);
        var records = FrontEnd.ReadAvailable();
        Assert.Equal(40 * count, records.Count(static record => record.Type == RecordBytes.EndRequest));
    }

    /// <summary>For instance, no descriptor is left.</summary>
    [Theory]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public void UsageOfTheThread_CannotBeReadOnce_NothingIsLearnedAboutSleep(bool isKnownBefore, bool isKnownAfter)
    {
        Platform.Usage = isKnownBefore ? new ThreadUsage(1_000, Delayed: 3_000_000) : null;
        var meter = Scheduler.CreateMeter();
        meter.Begin(default);
        Clock.Advance(TimeSpan.FromMilliseconds(5));
        Platform.Usage = isKnownAfter ? new ThreadUsage(6_000, Delayed: 3_000_000) : null;

        var cost = meter.End();

        Assert.Null(cost?.IsAsleep);
    }

    /// <summary>
    /// A hypervisor takes the processor without a word, and some systems do not report how long a thread waits for one.
    /// A thread that has only been without a processor has not slept.
    /// </summary>
    [Theory]
    [InlineData(7L, 7L, false)]
    [InlineData(7L, 8L, true)]
    [InlineData(null, null, true)]
    public void ProcessorIsTakenUnseen_ThreadHasNotWaited_CallHasNotSlept(long? before, long? after, bool isAsleep)
    {
        Platform.Usage = new ThreadUsage(0, Delayed: 0, before);
        var meter = Scheduler.CreateMeter();
        meter.Begin(default);
        Clock.Advance(TimeSpan.FromMilliseconds(20));
        Platform.Usage = new ThreadUsage(5_000, Delayed: 0, after);

        Assert.Equal(isAsleep, meter.End()?.IsAsleep);
    }

    /// <summary>The owner of the loop must be known even then: two threads on one loop would mix connections.</summary>
    [Fact]
    public async Task Execute_Throws_TheThreadKeepsItsLoop()
    {
        var ready = new ReadyRequests();
        ready.Add(new BrokenRequest(Server.Context, FrontEnd.Transport.Connection));
        Loop.Receive(ready, FrontEnd);
        Loop.Receive(FrontEnd, RecordBytes.Get(2, "/2"));

        Assert.True(Run());

        Assert.Equal("GET /2", (await FrontEnd.ReadResponseAsync(2)).Text);
        Assert.Equal(0, Here.CurrentCall);
        Assert.Equal(Hold.Nothing, Here.Hold);
    }

    private void Compute(int microseconds, int delayed = 0)
    {
        Clock.Advance(TimeSpan.FromMicroseconds(microseconds + delayed));
        var usage = Platform.Usage!.Value;
        Platform.Usage = new ThreadUsage(usage.Processor + microseconds, usage.Delayed + delayed);
    }

    private sealed class BrokenRequest(ServerContext server, FastCgiConnection connection)
        : FastCgiRequest(server, connection, default)
    {
        public override bool Execute() => throw new ThreadInterruptedException("on purpose");

        public override void DisposeContext()
        {
        }
    }
}
