using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests;

public sealed class LimitsTests
{
    private readonly FastCgiServerLimits _limits = new();

    [Fact]
    [Trait("Contract", "G3")]
    public void Defaults_AreThoseOfTheDesign()
    {
        Assert.Null(_limits.MaxConcurrentConnections);
        Assert.Null(_limits.MaxConcurrentRequests);
        Assert.Equal(0, _limits.RequestQueueLimit);
        Assert.Equal(TimeSpan.FromSeconds(30), _limits.RequestQueueTimeout);
        Assert.Equal(8, _limits.MaxReservedRequests);
        Assert.Null(_limits.MinRequestBodyDataRate);
        Assert.Equal(100, _limits.MaxRequestsPerConnection);
        Assert.Equal(131_072, _limits.MaxRequestParametersTotalSize);
        Assert.Equal(1_000, _limits.MaxRequestParameterCount);
        Assert.Equal(30_000_000, _limits.MaxRequestBodySize);
        Assert.Equal(1_048_576, _limits.MaxRequestBufferSize);
        Assert.Equal(65_536, _limits.MaxResponseBufferSize);
        Assert.Equal(65_536, _limits.MaxStandardErrorSize);
        Assert.Equal(TimeSpan.FromSeconds(30), _limits.RequestParametersTimeout);
        Assert.Equal(TimeSpan.FromMinutes(2), _limits.SendTimeout);
        Assert.Null(_limits.KeepAliveTimeout);
        Assert.Equal(TimeSpan.FromSeconds(5), _limits.UnreadBodyTimeout);
        Assert.Equal(TimeSpan.FromSeconds(5), _limits.LingerTimeout);
        Assert.Equal(TimeSpan.FromSeconds(2), _limits.ShutdownIdleGracePeriod);
    }

    [Fact]
    public void MaxConcurrentConnections_FromOne()
        => AssertOptional(value => _limits.MaxConcurrentConnections = value, () => _limits.MaxConcurrentConnections, smallest: 1);

    [Fact]
    public void MaxConcurrentRequests_FromOne()
        => AssertOptional(value => _limits.MaxConcurrentRequests = value, () => _limits.MaxConcurrentRequests, smallest: 1);

    [Fact]
    public void MaxRequestBodySize_FromZero()
        => AssertOptional(value => _limits.MaxRequestBodySize = value, () => _limits.MaxRequestBodySize, smallest: 0);

    [Fact]
    public void MaxRequestBufferSize_FromOne()
        => AssertOptional(value => _limits.MaxRequestBufferSize = value, () => _limits.MaxRequestBufferSize, smallest: 1);

    [Fact]
    public void MaxResponseBufferSize_FromOne()
        => AssertOptional(value => _limits.MaxResponseBufferSize = value, () => _limits.MaxResponseBufferSize, smallest: 1);

    [Fact]
    public void MaxStandardErrorSize_FromOne()
        => AssertOptional(value => _limits.MaxStandardErrorSize = value, () => _limits.MaxStandardErrorSize, smallest: 1);

    [Fact]
    public void RequestQueueLimit_FromZero()
        => AssertRange(value => _limits.RequestQueueLimit = (int)value, () => _limits.RequestQueueLimit, smallest: 0, int.MaxValue);

    [Fact]
    public void MaxRequestsPerConnection_AsManyAsThereAreIds()
    {
        AssertRange(value => _limits.MaxRequestsPerConnection = (int)value, () => _limits.MaxRequestsPerConnection, smallest: 1, 65_535);
        AssertRefused(() => _limits.MaxRequestsPerConnection = 65_536);
    }

    [Fact]
    public void MaxRequestParametersTotalSize_AsMuchAsASpanHolds()
    {
        AssertRange(value => _limits.MaxRequestParametersTotalSize = value, () => _limits.MaxRequestParametersTotalSize, smallest: 1, int.MaxValue);
        AssertRefused(() => _limits.MaxRequestParametersTotalSize = int.MaxValue + 1L);
    }

    [Fact]
    public void MaxRequestParameterCount_FromOne()
        => AssertRange(value => _limits.MaxRequestParameterCount = (int)value, () => _limits.MaxRequestParameterCount, smallest: 1, int.MaxValue);

    [Fact]
    public void RequestParametersTimeout_MoreThanZero()
        => AssertTime(value => _limits.RequestParametersTimeout = value, () => _limits.RequestParametersTimeout);

    [Fact]
    public void SendTimeout_MoreThanZeroOrNone()
    {
        AssertTime(value => _limits.SendTimeout = value, () => _limits.SendTimeout);

        _limits.SendTimeout = null;
        Assert.Null(_limits.SendTimeout);
    }

    [Fact]
    public void RequestQueueTimeout_MoreThanZeroOrNone()
    {
        AssertTime(value => _limits.RequestQueueTimeout = value, () => _limits.RequestQueueTimeout);

        _limits.RequestQueueTimeout = null;
        Assert.Null(_limits.RequestQueueTimeout);
    }

    [Fact]
    public void MaxReservedRequests_FromOne()
        => AssertRange(value => _limits.MaxReservedRequests = (int)value, () => _limits.MaxReservedRequests, smallest: 1, int.MaxValue);

    /// <summary>What such a rate may be, Kestrel's type says itself: faster than nothing, and a grace of more than its tick.</summary>
    [Fact]
    public void MinRequestBodyDataRate_AnyRateOrNone()
    {
        var rate = new MinDataRate(240, TimeSpan.FromSeconds(5));
        _limits.MinRequestBodyDataRate = rate;
        Assert.Same(rate, _limits.MinRequestBodyDataRate);

        _limits.MinRequestBodyDataRate = null;
        Assert.Null(_limits.MinRequestBodyDataRate);
        AssertRefused(static () => _ = new MinDataRate(0, TimeSpan.FromSeconds(5)));
        AssertRefused(static () => _ = new MinDataRate(240, TimeSpan.FromSeconds(1)));
    }

    [Fact]
    public void KeepAliveTimeout_MoreThanZeroOrNone()
    {
        AssertTime(value => _limits.KeepAliveTimeout = value, () => _limits.KeepAliveTimeout);

        _limits.KeepAliveTimeout = null;
        Assert.Null(_limits.KeepAliveTimeout);
    }

    [Fact]
    public void UnreadBodyTimeout_MoreThanZero() => AssertTime(value => _limits.UnreadBodyTimeout = value, () => _limits.UnreadBodyTimeout);

    [Fact]
    public void LingerTimeout_MoreThanZero() => AssertTime(value => _limits.LingerTimeout = value, () => _limits.LingerTimeout);

    [Fact]
    public void ShutdownIdleGracePeriod_FromZero()
    {
        foreach (var value in new[] { TimeSpan.Zero, TimeSpan.FromTicks(1), TimeSpan.MaxValue })
        {
            _limits.ShutdownIdleGracePeriod = value;
            Assert.Equal(value, _limits.ShutdownIdleGracePeriod);
        }

        AssertRefused(() => _limits.ShutdownIdleGracePeriod = TimeSpan.FromTicks(-1));
    }

    private static void AssertOptional(Action<long?> set, Func<long?> get, long smallest)
    {
        AssertRange(value => set(value), () => get()!.Value, smallest, long.MaxValue);

        set(null);
        Assert.Null(get());
    }

    private static void AssertRange(Action<long> set, Func<long> get, long smallest, long largest)
    {
        foreach (var value in new[] { smallest, smallest + 1, largest })
        {
            set(value);
            Assert.Equal(value, get());
        }

        AssertRefused(() => set(smallest - 1));
        AssertRefused(() => set(int.MinValue));
        Assert.Equal(largest, get());
    }

    private static void AssertTime(Action<TimeSpan> set, Func<TimeSpan?> get)
    {
        set(TimeSpan.FromTicks(1));
        Assert.Equal(TimeSpan.FromTicks(1), get());

        AssertRefused(() => set(TimeSpan.Zero));
        AssertRefused(() => set(TimeSpan.FromSeconds(-1)));
        AssertRefused(() => set(TimeSpan.MinValue));
        Assert.Equal(TimeSpan.FromTicks(1), get());

        set(Timeout.InfiniteTimeSpan);
        Assert.Equal(TimeSpan.MaxValue, get());
    }

    private static void AssertRefused(Action set) => Assert.Throws<ArgumentOutOfRangeException>(set);
}
