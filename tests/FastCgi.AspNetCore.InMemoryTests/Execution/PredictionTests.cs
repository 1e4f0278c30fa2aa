using FastCgi.AspNetCore.Execution;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>What is learnt of a handler that runs on a thread which nobody else waits for.</summary>
public sealed class PredictionTests : SchedulerTest
{
    private static readonly TimeSpan s_shortTime = TimeSpan.FromMilliseconds(1);

    [Theory]
    [InlineData(0, 100, 1_000_000, false)]
    [InlineData(1, 1, 0, true)]
    [InlineData(1, 0, 0, false)]
    [InlineData(1, 0, 500, false)]
    [InlineData(1, 0, 501, true)]
    public async Task Execute_BehindTheShortTime_CountsWhatTheThreadUsed(long ticks, long sleeps, long microseconds, bool keepsThread)
    {
        Application = context =>
        {
            Clock.Advance(s_shortTime + TimeSpan.FromTicks(ticks));
            Platform.Usage = new ThreadUsage(Platform.Usage.Microseconds + microseconds, Platform.Usage.Sleeps + sleeps);
            return Task.CompletedTask;
        };

        for (var id = 1; id <= 2; id++)
        {
            Scheduler.Predictor.Execute(Receive(RecordBytes.Get(id)).RemoveFirst(), s_shortTime);
            await FrontEnd.ReadResponseAsync(id);
        }

        Assert.Equal(keepsThread, Scheduler.Predictor.KeepsThread(new PathKey("/")));
    }

    /// <summary>There, whoever is back within a millisecond has met a lock, or the garbage collector.</summary>
    [Theory]
    [InlineData(0, false)]
    [InlineData(1, true)]
    public async Task Run_OnTheThreadPool_AMillisecondIsShort(long ticks, bool keepsThread)
    {
        Application = context =>
        {
            Clock.Advance(s_shortTime + TimeSpan.FromTicks(ticks));
            Platform.Usage = Platform.Usage with { Sleeps = Platform.Usage.Sleeps + 1 };
            return Task.CompletedTask;
        };
        var key = new PathKey("/");
        for (var id = 1; id <= 2; id++)
        {
            Scheduler.Run(Receive(RecordBytes.Get(id)).RemoveFirst());
            await FrontEnd.ReadResponseAsync(id);
        }

        if (keepsThread)
            await Waiting.UntilAsync(() => Scheduler.Predictor.KeepsThread(key), "the prediction");
        Assert.Equal(keepsThread, Scheduler.Predictor.KeepsThread(key));
    }
}
