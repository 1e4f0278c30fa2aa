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

    /// <param name="known">How long its calls took before, in microseconds.</param>
    [Theory]
    // A sample may find a thread in a lock or a garbage collection.
    [InlineData(5_000, true, 5_000, 0, 1, 151)]
    // On a busy machine, each call is interrupted. So such calls must count too.
    [InlineData(null, false, 400, 20_000, 1, 400)]
    // Not each call is measured, but one that takes unexpectedly long causes a measurement.
    [InlineData(5, false, 5_000, 0, 10, 151)]
    public async Task PathThatComputes_AfterAFewCalls_IsLearned(
        int? known, bool isStalled, int microseconds, int delayed, int calls, int atLeast)
    {
        if (known is { } before)
            Learn("/1", before, sleeps: false);
        if (isStalled)
            Scheduler.Predictor.OnStalled(new PathKey("/1"));
        Application = context =>
        {
            Compute(microseconds, delayed);
            return Apps.Target(context);
        };

        for (var id = 1; id <= calls; id++)
        {
            Run(RecordBytes.Get(id, "/1"));
            Platform.RunAll();
            await FrontEnd.ReadResponseAsync(id);
        }

        var learned = Scheduler.Predictor.Predict(new PathKey("/1"));
        Assert.Equal((true, false), (learned.IsKnown, learned.Sleeps));
        Assert.InRange(learned.Microseconds, atLeast, microseconds);
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
        Assert.Equal(Permit.None, Here.Permit);
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

        protected override void DisposeContext()
        {
        }
    }
}
