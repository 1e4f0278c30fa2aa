namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The clock of all timeouts, which stops while the process is paused.</summary>
public sealed class ServerClockTests
{
    private readonly FakeClock _time = new();
    private readonly ServerClock _clock;
    private readonly long _start;

    public ServerClockTests()
    {
        _clock = new ServerClock(_time);
        _start = _clock.GetTimestamp();
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(300, 300)]
    [InlineData(1_000, 1_000)]
    [InlineData(1_001, 1_000)]
    [InlineData(3_600_000, 1_000)]
    public void Tick_Late_CountsAsOneInterval(int late, int counted)
    {
        Pass(late);
        _clock.Tick();

        Assert.Equal((counted, counted), (Elapsed(_clock.LastTick), Elapsed(_clock.GetTimestamp())));

        // Skipped time is not added later.
        Pass(400);
        Assert.Equal((counted, counted + 400), (Elapsed(_clock.LastTick), Elapsed(_clock.GetTimestamp())));
        Pass(600);
        _clock.Tick();
        Assert.Equal((counted + 1_000, counted + 1_000), (Elapsed(_clock.LastTick), Elapsed(_clock.GetTimestamp())));
    }

    /// <summary>Ticks and readings may come early, late, and twice at once in this system time.</summary>
    [Fact]
    public void Time_AnySteps_NeverGoesBackAndTicksAreAnIntervalApartAtMost()
    {
        var random = new Random(5);
        var (last, lastTick) = (_start, _clock.LastTick);
        for (var step = 0; step < 10_000; step++)
        {
            Pass(random.Next(4) == 0 ? 0 : random.Next(2_500));
            if (random.Next(2) == 0)
                _clock.Tick();

            var now = _clock.GetTimestamp();
            Assert.InRange(now, last, _clock.LastTick + TimeSpan.TicksPerSecond);
            Assert.InRange(_clock.LastTick - lastTick, 0, TimeSpan.TicksPerSecond);
            Assert.True(_clock.LastTick <= now);
            (last, lastTick) = (now, _clock.LastTick);
        }
    }

    private void Pass(int milliseconds) => _time.Advance(TimeSpan.FromMilliseconds(milliseconds));

    private int Elapsed(long timestamp) => (int)_clock.GetElapsedTime(_start, timestamp).TotalMilliseconds;
}
