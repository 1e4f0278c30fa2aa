using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using OpenTelemetry.Metrics;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>OpenTelemetry exports what docs/diagnostics.md lists, by its conventions.</summary>
[Collection(Alone.Name)]
public sealed partial class ExportedMetricsTests : HostTest, IAsyncLifetime
{
    // The maximum number of values of a tag: each is a time series in a database.
    private const int MaxTagValues = 32;

    private static readonly Dictionary<string, MetricType> s_kinds = new()
    {
        ["counter"] = MetricType.LongSum,
        ["up-down counter"] = MetricType.LongSumNonMonotonic,
        ["histogram"] = MetricType.Histogram,
    };

    private readonly List<Metric> _exported = [];
    private WebApplication? _app;
    private MeterProvider? _provider;

    public async Task InitializeAsync()
    {
        var builder = CreateBuilder("--urls", Address);
        builder.Services.AddOpenTelemetry().WithMetrics(metrics => metrics
            .AddMeter("FastCgi.AspNetCore")
            .AddInMemoryExporter(
                _exported,
                static options => options.PeriodicExportingMetricReaderOptions.ExportIntervalMilliseconds =
                    int.MaxValue));
        builder.WebHost.UseFastCgi(static options =>
        {
            options.Limits.MaxConcurrentConnections = 1_000;
            options.Limits.MaxConcurrentRequests = 10;
        });
        _app = await StartAsync(builder);
        _provider = _app.Services.GetRequiredService<MeterProvider>();
    }

    public async Task DisposeAsync() => await _app!.DisposeAsync();

    [Fact]
    public async Task Export_AllMetrics_EqualTheDocumentedOnes()
    {
        CountEverything();
        await FastCgiClient.GetAsync(Address);
        await Waiting.UntilAsync(
            () => Collect().ContainsKey("fastcgi.server.connection.duration"), "the connection to be closed");

        var exported = Collect().Values.Select(static metric => new Row(
            metric.Name, metric.MetricType, metric.Unit, string.Join(", ", GetTagKeys(metric))))
            .OrderBy(static row => row.Name, StringComparer.Ordinal);

        Assert.Equal(ReadDocument().OrderBy(static row => row.Name, StringComparer.Ordinal), exported);
        Assert.All(Collect().Values, static metric =>
        {
            // Units of UCUM; counted things are in braces and singular.
            Assert.Matches("^(s|By|\\{[a-z_]+[a-rt-z]\\})$", metric.Unit);
            Assert.Matches("^[A-Z].*\\.$", metric.Description);
            // The kind implies these suffixes, and Prometheus exporters add them.
            Assert.DoesNotMatch("(total|counter|bytes|seconds)$", metric.Name);
            foreach (var values in GetTags(metric).GroupBy(static tag => tag.Key))
                Assert.InRange(values.Select(static tag => tag.Value).Distinct().Count(), 1, MaxTagValues);
        });
    }

    [GeneratedRegex(
        "^\\| (?<names>`fastcgi\\.server\\.[^|]*) \\| (?<kind>[a-z -]+) \\| (?<unit>[^|]+) \\| (?<tags>[^|]*)\\|",
        RegexOptions.Multiline)]
    private static partial Regex InstrumentRow();

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Code();

    private static IEnumerable<Row> ReadDocument()
    {
        var document = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", "diagnostics.md"));
        return InstrumentRow().Matches(document).SelectMany(
            static row => Code().Matches(row.Groups["names"].Value).Select(name => new Row(
                name.Groups[1].Value, s_kinds[row.Groups["kind"].Value], row.Groups["unit"].Value,
                string.Join(
                    ", ",
                    Code().Matches(row.Groups["tags"].Value).Select(static tag => tag.Groups[1].Value).Where(
                        static tag => tag.Contains('.')).Order(StringComparer.Ordinal)))));
    }

    private static IEnumerable<string> GetTagKeys(Metric metric)
        => GetTags(metric).Select(static tag => tag.Key).Distinct().Order(StringComparer.Ordinal);

    private static List<KeyValuePair<string, object?>> GetTags(Metric metric)
    {
        var tags = new List<KeyValuePair<string, object?>>();
        foreach (ref readonly var point in metric.GetMetricPoints())
        {
            foreach (var tag in point.Tags)
                tags.Add(tag);
        }

        return tags;
    }

    private Dictionary<string, Metric> Collect()
    {
        _exported.Clear();
        Assert.True(_provider!.ForceFlush());
        return _exported.Where(static metric => metric.MeterName == "FastCgi.AspNetCore")
            .ToDictionary(static metric => metric.Name);
    }

    /// <summary>Counts every cause, because causes are the values of the tags.</summary>
    private void CountEverything()
    {
        var counters = GetServer(_app!).Connections!.Server.Counters;
        foreach (var rejection in Enum.GetValues<RequestRejection>()
            .Where(static rejection => rejection != RequestRejection.None))
            counters.OnRequestRejected(rejection);
        foreach (var error in Enum.GetValues<ProtocolError>().Where(static error => error != ProtocolError.None))
            counters.OnProtocolError(error);
        foreach (var cause in Enum.GetValues<AbortCause>())
            counters.OnRequestAborted(cause);
    }

    private sealed record Row(string Name, MetricType Kind, string Unit, string Tags);
}
