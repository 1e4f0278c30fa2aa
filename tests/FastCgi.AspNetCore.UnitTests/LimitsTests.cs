using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The range of each limit, and the places that a new limit needs.</summary>
public sealed class LimitsTests
{
    private readonly FastCgiServerLimits _limits = new();

    public static TheoryData<string> Names
        => [.. typeof(FastCgiServerLimits).GetProperties().Select(static property => property.Name)];

    /// <summary>The message lists the places where a new limit is missing.</summary>
    [Theory]
    [MemberData(nameof(Names))]
    public void Limit_Each_HasAllItsPlaces(string name)
    {
        (string Place, bool IsThere)[] places =
        [
            ("Hosting/Configuration/Settings.cs: its row", ReadStatus().Contains(name)),
            ("Hosting/Configuration/Settings.cs: Kestrel has a limit of this name, which applies or is without "
                + "effect", !IsKestrels(name) || IsInKestrelSettings(name)),
            ("LimitsTests.cs: its range", HasRange(name)),
        ];

        Assert.Empty(places.Where(static place => !place.IsThere).Select(static place => place.Place));
    }

    [Theory]
    [InlineData(nameof(FastCgiServerLimits.MaxConcurrentConnections), 1, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.MaxConcurrentRequests), 1, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.MaxRequestBodySize), 0, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.MaxRequestBufferSize), 1, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.MaxResponseBufferSize), 1, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.MaxStandardErrorSize), 1, long.MaxValue, true)]
    [InlineData(nameof(FastCgiServerLimits.RequestQueueLimit), 0, int.MaxValue, false)]
    [InlineData(nameof(FastCgiServerLimits.MaxRequestsPerConnection), 1, 65_535, false)]
    [InlineData(nameof(FastCgiServerLimits.MaxRequestParametersTotalSize), 1, int.MaxValue, false)]
    [InlineData(nameof(FastCgiServerLimits.MaxRequestParameterCount), 1, int.MaxValue, false)]
    public void Number_OfEachLimit_HasItsRange(string name, long smallest, long largest, bool isOptional)
    {
        foreach (var value in new[] { smallest, smallest + 1, largest })
        {
            SetNumber(name, value);
            Assert.Equal(value, Convert.ToInt64(Get(name), CultureInfo.InvariantCulture));
        }

        AssertRefused(() => SetNumber(name, smallest - 1));
        AssertRefused(() => SetNumber(name, int.MinValue));
        if (largest < long.MaxValue && (largest < int.MaxValue || Property(name).PropertyType == typeof(long)))
            AssertRefused(() => SetNumber(name, largest + 1));
        Assert.Equal(largest, Convert.ToInt64(Get(name), CultureInfo.InvariantCulture));
        if (!isOptional)
            return;

        Set(name, null);
        Assert.Null(Get(name));
    }

    [Theory]
    [InlineData(nameof(FastCgiServerLimits.RequestParametersTimeout), false)]
    [InlineData(nameof(FastCgiServerLimits.UnreadBodyTimeout), false)]
    [InlineData(nameof(FastCgiServerLimits.LingerTimeout), false)]
    [InlineData(nameof(FastCgiServerLimits.SendTimeout), true)]
    [InlineData(nameof(FastCgiServerLimits.RequestQueueTimeout), true)]
    [InlineData(nameof(FastCgiServerLimits.KeepAliveTimeout), true)]
    public void Time_OfEachLimit_IsMoreThanZero(string name, bool isOptional)
    {
        Set(name, TimeSpan.FromTicks(1));
        foreach (var value in new[] { TimeSpan.Zero, TimeSpan.FromSeconds(-1), TimeSpan.MinValue })
            AssertRefused(() => Set(name, value));
        Assert.Equal(TimeSpan.FromTicks(1), Get(name));

        Set(name, Timeout.InfiniteTimeSpan);
        Assert.Equal(TimeSpan.MaxValue, Get(name));
        if (!isOptional)
            return;

        Set(name, null);
        Assert.Null(Get(name));
    }

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

    private static HashSet<string> ReadStatus()
    {
        var server = ServerContext.Create(
            new FastCgiServerOptions(), new ResponseRig.NoApplication(), NullLogger.Instance, TimeProvider.System);
        var (requests, resources) = (
            new RequestTotals(0, 0, 0, new Dictionary<string, long>(), new Dictionary<string, long>()),
            new ResourceStatus(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        return [.. StatusReader.ReadLimits(server, 0, requests, resources).Select(static limit => limit.Name)];
    }

    private static bool IsKestrels(string name) => typeof(KestrelServerLimits).GetProperty(name) is not null;

    private static bool IsInKestrelSettings(string name)
        => Settings.All.Any(setting => setting.KestrelName == $"Limits.{name}")
            || File.ReadAllText(Repository.GetPath("src/FastCgi.AspNetCore/Hosting/Configuration/KestrelSettings.cs"))
            .Contains($"\"Limits.{name}");

    /// <summary>A rate has that of Kestrel's type.</summary>
    private static bool HasRange(string name)
        => typeof(LimitsTests).GetMethods().Any(method => method.Name.StartsWith($"{name}_", StringComparison.Ordinal)
            || Property(name).PropertyType == typeof(MinDataRate)
            || method.GetCustomAttributes<InlineDataAttribute>().Any(
                row => row.GetData(method).Single()[0] is string first && first == name));

    private static PropertyInfo Property(string name) => typeof(FastCgiServerLimits).GetProperty(name)!;

    private object? Get(string name) => Property(name).GetValue(_limits);

    private void Set(string name, object? value)
        => Property(name).SetValue(_limits, value, BindingFlags.DoNotWrapExceptions, null, null, null);

    private void SetNumber(string name, long value)
    {
        var type = Nullable.GetUnderlyingType(Property(name).PropertyType) ?? Property(name).PropertyType;
        Set(name, Convert.ChangeType(value, type, CultureInfo.InvariantCulture));
    }

    private static void AssertRefused(Action set) => Assert.Throws<ArgumentOutOfRangeException>(set);
}
