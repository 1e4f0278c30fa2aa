namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

public sealed class LogThrottleTests
{
    [Fact]
    public void TryAcquire_ManyThreads_NoneIsLost()
    {
        var clock = new FakeClock(TimeSpan.FromDays(-1));
        var limit = new LogThrottle(clock);
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
        clock.Advance(TimeSpan.FromMinutes(1));
        Assert.True(limit.TryAcquire(out var rest));
        Assert.Equal(10_001, sum + rest);
    }

    [Fact]
    public void TryAcquire_SeveralInAMinute_ThenNoneUntilItIsOver()
    {
        var clock = new FakeClock(TimeSpan.FromDays(-1));
        var limit = new LogThrottle(clock, max: 100);
        for (var i = 0; i < 100; i++)
            Assert.True(limit.TryAcquire(out _));
        for (var i = 0; i < 7; i++)
            Assert.False(limit.TryAcquire(out _));
        clock.Advance(TimeSpan.FromSeconds(60) - TimeSpan.FromTicks(1));
        Assert.False(limit.TryAcquire(out _));

        clock.Advance(TimeSpan.FromTicks(1));
        Assert.True(limit.TryAcquire(out var count));
        Assert.Equal(9, count);
        Assert.True(limit.TryAcquire(out count));
        Assert.Equal(1, count);
        for (var i = 0; i < 98; i++)
            Assert.True(limit.TryAcquire(out _));
        Assert.False(limit.TryAcquire(out _));
    }

    [Fact]
    public void Reset_LoggedOnce_NextIsLogged()
    {
        var clock = new FakeClock(TimeSpan.FromDays(-1));
        var once = LogThrottle.Once(clock);
        Assert.False(once.Reset());
        Assert.True(once.TryAcquire(out _));
        clock.Advance(TimeSpan.FromDays(1_000));
        Assert.False(once.TryAcquire(out _));

        Assert.True(once.Reset());

        Assert.False(once.Reset());
        Assert.True(once.TryAcquire(out var count));
        Assert.Equal(1, count);
        Assert.False(once.TryAcquire(out _));
    }
}
