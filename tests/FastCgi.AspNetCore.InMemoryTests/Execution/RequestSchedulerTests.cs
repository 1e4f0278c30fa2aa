namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Which thread calls the application, what it leaves behind there, and when its answer is sent.</summary>
public sealed class RequestSchedulerTests : SchedulerTest
{
    private static readonly AsyncLocal<string?> s_ambient = new();

    [Theory]
    [InlineData(FastCgiApplicationScheduling.Auto, true)]
    [InlineData(FastCgiApplicationScheduling.Inline, true)]
    [InlineData(FastCgiApplicationScheduling.ThreadPool, false)]
    public async Task Run_PathOfWhichNothingIsKnown_OnThisThreadUnlessTheOptionsSayOtherwise(FastCgiApplicationScheduling scheduling, bool isHere)
    {
        var called = RecordThread();

        Run(CreateScheduler(scheduling), RecordBytes.Get());

        Assert.Equal(isHere, await called.Task.Within("the call"));
        await FrontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task Run_PathThatKeepsItsThread_OnAnotherOfOurs()
    {
        var called = RecordThread();
        Scheduler.Predictor.OnStalled(new PathKey("/"));

        Run(Scheduler, RecordBytes.Get());

        Assert.False(called.Task.IsCompleted);
        Assert.Equal(1, Scheduler.Workers.WaitingCount);
        Step();
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>Its continuation runs there anyway. A path that no longer awaits comes back.</summary>
    [Fact]
    public async Task Run_PathThatAwaits_OnTheThreadPoolUntilItReturns()
    {
        async Task<bool> IsCalledHereAsync(bool awaits)
        {
            var called = Waiting.Signal<bool>();
            var go = Waiting.Signal();
            Application = async context =>
            {
                called.SetResult(IsOnThisThread);
                if (awaits)
                    await go.Task;
                await Apps.Target(context);
            };
            Run(Scheduler, RecordBytes.Get());
            go.SetResult();
            await FrontEnd.ReadResponseAsync();
            return await called.Task;
        }

        Assert.True(await IsCalledHereAsync(awaits: true));
        Assert.True(await IsCalledHereAsync(awaits: true));
        Assert.False(await IsCalledHereAsync(awaits: false));
        // What a call on the thread pool showed may be noted after its response has been sent.
        while (Scheduler.Predictor.Awaits(new PathKey("/")))
            await IsCalledHereAsync(awaits: false);
        Assert.True(await IsCalledHereAsync(awaits: false));
    }

    [Theory, Values(true, false)]
    public async Task Run_RequestThatHasWaited_GoesWhereItsPathBelongs(bool keepsThread)
    {
        var called = RecordThread();
        if (keepsThread)
            Scheduler.Predictor.OnStalled(new PathKey("/"));
        var ready = Receive(RecordBytes.Get());

        Scheduler.Run(ready.RemoveFirst());

        Assert.Equal(keepsThread ? 1 : 0, Scheduler.Workers.WaitingCount);
        Step();
        Assert.Equal(keepsThread, await called.Task.Within("the call"));
        await FrontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task Run_WhileTheFirstRequestRuns_WaitsForItsReturn()
    {
        // Nobody has asked for anything for long: the first request is still to come.
        Clock.Advance(TimeSpan.FromHours(1));
        Scheduler.Watchdog.Look();
        var calls = new List<string>();
        Application = context =>
        {
            calls.Add(context.Request.Path!);
            if (calls.Count == 1)
            {
                var ready = Receive(RecordBytes.Get(2, "/second1"));
                Run(Scheduler, new TestQueue(), ref ready);
                Step();
                Assert.Single(calls);
                // Its queue may be another thread's by now, so that the call is not seen.
                Assert.True(Queue.TryLeave(Queue.CurrentCall));
                Assert.True(Scheduler.Watchdog.Look().IsInCall);
            }

            return Apps.Target(context);
        };

        Run(Scheduler, RecordBytes.Get(1, "/first1"));
        Assert.Single(calls);
        Step();

        Assert.Equal(["/first1", "/second1"], calls);
        await FrontEnd.ReadResponseAsync(1);
        await FrontEnd.ReadResponseAsync(2);
    }

    [Fact]
    public async Task Look_FirstRequestTakesLong_OthersWaitNoLonger()
    {
        var calls = new List<string>();
        Application = context =>
        {
            calls.Add(context.Request.Path!);
            if (calls.Count == 1)
            {
                var ready = Receive(RecordBytes.Get(2, "/second1"));
                Run(Scheduler, new TestQueue(), ref ready);
                Clock.Advance(TimeSpan.FromMilliseconds(500));
                Scheduler.Watchdog.Look();
                Step();
                Assert.Single(calls);
                Clock.Advance(TimeSpan.FromTicks(1));
                Scheduler.Watchdog.Look();
                Step();
                Assert.Equal(2, calls.Count);
            }

            return Apps.Target(context);
        };

        Run(Scheduler, RecordBytes.Get(1, "/first1"));

        await FrontEnd.ReadResponseAsync(2);
        await FrontEnd.ReadResponseAsync(1);
    }

    [Theory, Values(true, false)]
    public async Task Run_WhatTheApplicationSetsOnTheThread_EndsWithItsCall(bool keepsThread)
    {
        var before = SynchronizationContext.Current;
        Application = context =>
        {
            s_ambient.Value = "of the application";
            SynchronizationContext.SetSynchronizationContext(new SynchronizationContext());
            return Apps.Target(context);
        };
        if (keepsThread)
            Scheduler.Predictor.OnStalled(new PathKey("/"));

        Run(Scheduler, RecordBytes.Get());
        Step();

        Assert.Null(s_ambient.Value);
        Assert.Same(before, SynchronizationContext.Current);
        await FrontEnd.ReadResponseAsync();
    }

    [Fact]
    public void Run_SeveralRequests_AreAnsweredWithOneSendAndTheBatchIsOver()
    {
        Run(Scheduler, RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Get(3));

        Assert.Equal(1, FrontEnd.Transport.SendCount);
        Assert.Equal(3, FrontEnd.ReadAvailable().Count(static record => record.Type == RecordBytes.EndRequest));
        Assert.Null(Queue.Output);
    }

    [Fact]
    public async Task Run_QueueIsTakenMeanwhile_TheRestOfTheAnswerIsSentAndNothingElseDone()
    {
        Application = context =>
        {
            Assert.True(Queue.TryLeave(Queue.CurrentCall));
            return Apps.Target(context);
        };

        Assert.False(Run(Scheduler, RecordBytes.Get(1), RecordBytes.Get(2)));

        await FrontEnd.ReadResponseAsync(1);
        Assert.False(Queue.IsEmpty);
        Application = Apps.Target;
        Assert.True(Scheduler.Continue(Queue));
        await FrontEnd.ReadResponseAsync(2);
    }

    [Fact]
    public async Task Run_WatchdogIsParked_IsWoken()
    {
        ParkWatchdog();

        Run(Scheduler, RecordBytes.Get());

        Assert.True(Watchdog.IsWoken);
        await FrontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task BeginStop_WhileTheFirstRequestRuns_OthersDoNotWaitForIt()
    {
        var hasSecondRun = false;
        var wasBeforeTheEndOfTheFirst = false;
        Application = context =>
        {
            if (context.Request.Path == "/first1")
            {
                Run(Scheduler, new TestQueue(), RecordBytes.Get(2, "/second1"));
                Scheduler.BeginStop();
                Step();
                wasBeforeTheEndOfTheFirst = hasSecondRun;
            }

            hasSecondRun |= context.Request.Path == "/second1";
            return Apps.Target(context);
        };

        Run(Scheduler, RecordBytes.Get(1, "/first1"));

        Assert.True(wasBeforeTheEndOfTheFirst);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>A log provider may block the thread as a handler may.</summary>
    [Fact]
    public void Run_ReportsAloneAndWatchdogIsParked_IsWoken()
    {
        ParkWatchdog();

        var ready = default(ReadyRequests);
        var isParked = true;
        ready.Report(() => isParked = Scheduler.Watchdog.IsParked);
        Run(Scheduler, Queue, ref ready);

        Assert.False(isParked);
    }

    private TaskCompletionSource<bool> RecordThread()
    {
        var called = Waiting.Signal<bool>();
        Application = context =>
        {
            called.TrySetResult(IsOnThisThread);
            return Apps.Target(context);
        };
        return called;
    }
}
