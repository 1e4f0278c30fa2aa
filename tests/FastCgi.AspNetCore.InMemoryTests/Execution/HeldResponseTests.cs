using FastCgi.AspNetCore.Execution;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>What a call holds back, and which look of the watchdog sends it.</summary>
public sealed class HeldResponseTests : SchedulerTest
{
    private readonly FakeProbe _probe = new() { Sleeps = false };

    private int SendCount => FrontEnd.Transport.SendCount;

    [Fact]
    public void Look_AnotherCallOfTheSameBatch_WhatTheOneBeforeWroteIsSent()
    {
        var sends = new List<int>();
        Application = async context =>
        {
            await Apps.Hello(context);
            Scheduler.Watchdog.Look();
            sends.Add(SendCount);
        };

        Run(Scheduler, RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Get(3));

        Assert.Equal([0, 1, 2], sends);
    }

    /// <summary>What stands before it may be as short as itself, and is sent with it.</summary>
    [Fact]
    public void Look_CallOfAnotherBatch_SendsNothing()
    {
        var sends = new List<int>();
        Application = async context =>
        {
            await Apps.Hello(context);
            if (context.Request.Path != "/quick1")
                Scheduler.Watchdog.Look();
            sends.Add(SendCount);
        };

        Run(Scheduler, RecordBytes.Get(1));
        Run(Scheduler, RecordBytes.Get(2, "/quick1"), RecordBytes.Get(3));

        Assert.Equal([0, 1, 1], sends);
    }

    /// <summary>There is no thread that could go on with the queue.</summary>
    [Fact]
    public void Look_KeptCallAndNoReservationLeft_WhatItHoldsIsSentAtTheSecond()
    {
        while (Scheduler.Workers.TryReserve())
        {
        }

        _probe.Sleeps = true;
        var sends = CountSends(looks: 2);

        Assert.Equal([0, 1], sends);
    }

    [Fact]
    public void Look_CallWaitsForAProcessor_WhatItHoldsIsSentAtTheFourth() => Assert.Equal([0, 0, 0, 1], CountSends(looks: 4));

    /// <summary>Also when it holds nothing itself.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Look_QueueIsTaken_WhatIsHeldIsSentAndThePathLearnt(bool writes)
    {
        Queue.Probe = _probe.Probe;
        _probe.Sleeps = true;
        Application = async context =>
        {
            if (context.Request.Path == "/first1")
            {
                await Apps.Hello(context);
                return;
            }

            if (writes)
                await FlushAsync(context);
            Scheduler.Watchdog.Look();
            Assert.Equal(0, SendCount);
            Scheduler.Watchdog.Look();
            Assert.Equal(1, SendCount);
            if (writes)
                await AssertNextFlushIsSentAsync(context);
        };

        Assert.False(Run(Scheduler, RecordBytes.Get(1, "/first1"), RecordBytes.Get(2, "/keeps1")));

        Assert.True(Scheduler.Predictor.KeepsThread(new PathKey("/keeps1")));
        Assert.False(Scheduler.Predictor.KeepsThread(new PathKey("/first1")));
        Step();
        await FrontEnd.ReadResponseAsync(1);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>The end is likely to follow at once, and else the next look sends it.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_LikelyTheLast_LeavesAtTheNextLookOrTheEndOfTheWatchdog(bool looks)
    {
        Server.Deadlines = Scheduler.Watchdog.TrySetDeadline;
        Scheduler.Watchdog.Start();
        var begin = Waiting.Signal();
        var held = Waiting.Signal();
        var end = Waiting.Signal();
        Application = async context =>
        {
            context.Response.ContentLength = 4;
            await begin.Task;
            await FlushAsync(context);
            held.SetResult();
            await end.Task;
        };
        Run(Scheduler, RecordBytes.Get());
        begin.SetResult();
        await held.Task.Within("the flush");
        Assert.Equal(0, SendCount);

        if (looks)
        {
            Assert.True(Scheduler.Watchdog.Look().HadDeadlines);
            Assert.False(Scheduler.Watchdog.Look().HadDeadlines);
        }
        else
        {
            Scheduler.Watchdog.Stop();
            Assert.Null(Watchdog.Step());
        }

        Assert.Equal(1, SendCount);
        end.SetResult();
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>Nobody would send what is held while the watchdog is parked.</summary>
    [Fact]
    public async Task TrySetDeadline_WhileTheWatchdogIsParked_Refused()
    {
        var request = Receive(RecordBytes.Get()).RemoveFirst();
        var response = request.Response.Output;
        Assert.False(Scheduler.Watchdog.TrySetDeadline(response));
        Scheduler.Watchdog.Start();
        Assert.True(Scheduler.Watchdog.TrySetDeadline(response));
        while (Watchdog.Step() != Timeout.InfiniteTimeSpan)
        {
        }

        // Flushes that come close together are worth its looks, unless this thread is held up between any two of so many.
        for (var i = 0; i < 10_000 && !Watchdog.IsWoken; i++)
            Assert.False(Scheduler.Watchdog.TrySetDeadline(response));
        Assert.True(Watchdog.IsWoken);
        Watchdog.TakeWake();
        Watchdog.Step();

        Assert.True(Scheduler.Watchdog.TrySetDeadline(response));
        FrontEnd.Close();
        request.Execute();
        await Task.CompletedTask;
    }

    private static async Task FlushAsync(HttpContext context)
    {
        await context.Response.Body.WriteAsync("part"u8.ToArray());
        await context.Response.Body.FlushAsync();
    }

    /// <summary>From now on nothing of it is held.</summary>
    private async Task AssertNextFlushIsSentAsync(HttpContext context)
    {
        var before = SendCount;
        await FlushAsync(context);
        Assert.Equal(before + 1, SendCount);
    }

    /// <summary>The sends behind each look at a call that has flushed.</summary>
    private List<int> CountSends(int looks)
    {
        var sends = new List<int>();
        Queue.Probe = _probe.Probe;
        Application = async context =>
        {
            await FlushAsync(context);
            for (var i = 0; i < looks; i++)
            {
                Scheduler.Watchdog.Look();
                sends.Add(SendCount);
            }
        };

        Run(Scheduler, RecordBytes.Get(1), RecordBytes.Get(2, "/other1"));
        return sends.Take(looks).ToList();
    }
}
