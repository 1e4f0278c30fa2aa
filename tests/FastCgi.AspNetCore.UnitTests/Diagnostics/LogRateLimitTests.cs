using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

public sealed class LogRateLimitTests
{
    [Fact]
    public void TryAcquire_First_AtOnce()
    {
        Assert.True(new LogRateLimit(new Clock()).TryAcquire(out var count));
        Assert.Equal(1, count);
    }

    [Fact]
    public void TryAcquire_Many_OnceAMinuteWithTheirCount()
    {
        var clock = new Clock();
        var limit = new LogRateLimit(clock);
        var counts = new List<long>();
        for (var i = 0; i < 300; i++, clock.Now += TimeSpan.FromSeconds(1))
        {
            if (limit.TryAcquire(out var count))
                counts.Add(count);
        }

        Assert.Equal([1, 60, 60, 60, 60], counts);
    }

    [Fact]
    public void TryAcquire_ManyThreads_NoneIsLost()
    {
        var clock = new Clock();
        var limit = new LogRateLimit(clock);
        long sum = 0;
        var messages = 0;
        Parallel.For(0, 10_000, _ =>
        {
            if (!limit.TryAcquire(out var count))
                return;

            Interlocked.Add(ref sum, count);
            Interlocked.Increment(ref messages);
        });

        Assert.Equal(1, messages);
        clock.Now += TimeSpan.FromMinutes(1);
        Assert.True(limit.TryAcquire(out var rest));
        Assert.Equal(10_001, sum + rest);
    }

    private sealed class Clock : TimeProvider
    {
        // A clock may begin below zero.
        public TimeSpan Now { get; set; } = TimeSpan.FromDays(-1);

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => Now.Ticks;
    }
}
