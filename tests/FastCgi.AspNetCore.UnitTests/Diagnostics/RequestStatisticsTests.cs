namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>The last minute, while the status is read and for ten minutes after.</summary>
public sealed class RequestStatisticsTests
{
    private readonly FakeClock _time = new();
    private readonly RequestStatistics _statistics;

    public RequestStatisticsTests() => _statistics = new RequestStatistics(_time, _time);

    [Fact]
    public void GetRecent_BeforeTheFirstReading_IsEmpty()
    {
        var recent = _statistics.GetRecent(new Totals(1, 2, 3, 4));

        Assert.False(_statistics.IsWatched);
        Assert.False(_statistics.IsSampleDue(_time.GetTimestamp()));
        Assert.Equal((TimeSpan.Zero, 0, 0, 0, 0, 0), (
            recent.Time, recent.RequestRate, recent.ConnectionRate, recent.ReceiveRate, recent.SendRate,
            recent.Latencies.Sum()));
    }

    [Fact]
    public void GetRecent_SinceTheFirstLook_IsTheDifference()
    {
        _statistics.Watch(new Totals(10, 20, 300, 4_000));
        _time.Advance(TimeSpan.FromSeconds(4));
        _statistics.Add(_time.GetTimestamp() - TimeSpan.TicksPerSecond);
        _statistics.Add((_time.Now - TimeSpan.FromSeconds(4)).Ticks);
        // It began before the first reading, when no times were kept.
        _statistics.Add((_time.Now - TimeSpan.FromSeconds(4)).Ticks - 1);

        var recent = _statistics.GetRecent(new Totals(12, 24, 308, 4_016));

        Assert.True(_statistics.IsWatched);
        Assert.Equal(
            (TimeSpan.FromSeconds(4), 0.5, 1, 2, 4),
            (recent.Time, recent.ConnectionRate, recent.RequestRate, recent.ReceiveRate, recent.SendRate));
        Assert.Equal(2, recent.Latencies.Sum());
        Assert.InRange(LatencyHistogram.GetPercentile(recent.Latencies, 0.5)!.Value.TotalSeconds, 1, 1.13);
        Assert.InRange(LatencyHistogram.GetPercentile(recent.Latencies, 1)!.Value.TotalSeconds, 4, 4.5);
    }

    /// <summary>A busy machine ticks late, which the request clock skips. Rates must not grow from it.</summary>
    [Fact]
    public void GetRecent_AfterALateTick_CountsTheWholeTime()
    {
        var clock = new ServerClock(_time);
        var statistics = new RequestStatistics(clock, _time);
        statistics.Watch(default);
        _time.Advance(TimeSpan.FromSeconds(4));
        clock.Tick();

        var recent = statistics.GetRecent(new Totals(0, 8, 0, 0));

        Assert.Equal((TimeSpan.FromSeconds(4), 2), (recent.Time, recent.RequestRate));
    }

    /// <summary>A late tick holds up the server's clock, which would measure nothing then.</summary>
    [Fact]
    public void Add_WhileATickIsLate_CountsTheWholeTime()
    {
        var statistics = new RequestStatistics(new ServerClock(_time), _time);
        statistics.Watch(default);
        _time.Advance(TimeSpan.FromSeconds(1.1));
        var began = _time.GetTimestamp();
        _time.Advance(TimeSpan.FromSeconds(0.3));

        statistics.Add(began);
        statistics.Add(0);

        var latencies = statistics.GetRecent(default).Latencies;
        Assert.Equal(1, latencies.Sum());
        Assert.InRange(LatencyHistogram.GetPercentile(latencies, 1)!.Value.TotalSeconds, 0.3, 0.34);
    }

    /// <summary>Ten samples, the first of a minute ago.</summary>
    [Fact]
    public void OnSampleDue_AfterAMinute_TheOldestIsLeftOut()
    {
        _statistics.Watch(default);
        _statistics.Add(_time.GetTimestamp());
        for (var i = 1; i <= 9; i++)
            Sample(i);
        Assert.Equal((54, 1), (GetRecent(9).Time.TotalSeconds, GetRecent(9).Latencies.Sum()));

        Sample(10);
        Assert.Equal((54, 0), (GetRecent(10).Time.TotalSeconds, GetRecent(10).Latencies.Sum()));
        Assert.Equal(9, GetRecent(10).Now.Requests - GetRecent(10).Before.Requests);
        _statistics.Add(_time.GetTimestamp());
        Assert.Equal(1, GetRecent(10).Latencies.Sum());
    }

    [Fact]
    public void OnSampleDue_NotReadForTenMinutes_StopsAndStartsAnew()
    {
        _statistics.Watch(default);
        _statistics.Add(_time.GetTimestamp());
        _time.Advance(TimeSpan.FromMinutes(10));
        _statistics.OnSampleDue(default);
        Assert.True(_statistics.IsWatched);
        _time.Advance(TimeSpan.FromTicks(1));

        _statistics.OnSampleDue(default);

        Assert.False(_statistics.IsWatched);
        Assert.False(_statistics.IsSampleDue(long.MaxValue / 2));
        _time.Advance(TimeSpan.FromHours(1));
        _statistics.Watch(new Totals(0, 50, 0, 0));
        var recent = GetRecent(50);
        Assert.Equal((TimeSpan.Zero, 0L, 0.0), (recent.Time, recent.Latencies.Sum(), recent.RequestRate));
    }

    /// <summary>Counters that are read one after another may appear to decrease.</summary>
    [Fact]
    public void Rate_NeverBelowZero()
        => Assert.Equal(0, new RecentRequests(
            TimeSpan.FromSeconds(1), new Totals(0, 5, 0, 0), new Totals(0, 4, 0, 0), []).RequestRate);

    private void Sample(int requests)
    {
        _time.Advance(TimeSpan.FromSeconds(6));
        _statistics.OnSampleDue(new Totals(0, requests, 0, 0));
    }

    private RecentRequests GetRecent(int requests) => _statistics.GetRecent(new Totals(0, requests, 0, 0));
}
