using System.Collections.Concurrent;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Samples.Tests;

public sealed partial class TelemetryTests
{
    /// <summary>A collector receives what is in its request as it is: protocol buffers have texts in plain.</summary>
    [Fact]
    public async Task Collector_GetsMetricsAndTraces()
    {
        await using var collector = new Collector();
        await collector.StartAsync();
        await using var sample = await Sample.StartAsync(
            new Dictionary<string, string>
            {
                ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.Address,
                ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf",
                ["OTEL_METRIC_EXPORT_INTERVAL"] = "100",
                ["OTEL_BSP_SCHEDULE_DELAY"] = "100",
            },
            "Telemetry");
        using var client = sample.CreateClient();

        Assert.Equal("Measured.\n", await client.GetStringAsync("/"));

        await Waiting.UntilAsync(
            () => collector.HasReceived("/v1/metrics", "fastcgi.server.requests"), "the server's metrics");
        await Waiting.UntilAsync(
            () => collector.HasReceived("/v1/metrics", "http.server.request.duration"), "the metrics of ASP.NET Core");
        await Waiting.UntilAsync(() => collector.HasReceived("/v1/traces", "GET /"), "the trace");
        sample.AssertNothingIsWrong();
    }

    /// <summary>Where Prometheus scrapes, and with the names that the dashboard queries.</summary>
    [Fact]
    public async Task Prometheus_ScrapesWhatTheDashboardShows()
    {
        await using var sample = await Sample.StartAsync("Telemetry");
        using var client = sample.CreateClient();
        var configuration = await File.ReadAllTextAsync($"{Repository.Root}/samples/Telemetry/prometheus.yml");
        var target = Target().Match(configuration).Groups["host"].Value.Replace(
            "8080", sample.Port.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal);
        await client.GetStringAsync("/");

        var names = Name()
            .Matches(await client.GetStringAsync(new Uri($"http://{target}/metrics")))
            .Select(static match => match.Value)
            .ToHashSet();

        var asked = Name()
            .Matches(await File.ReadAllTextAsync($"{Repository.Root}/samples/grafana/fastcgi.json"))
            .Select(static match => match.Value)
            .ToHashSet();
        Assert.NotEmpty(asked);
        // Not exported before they have counted something.
        Assert.Empty(
            asked.Except([.. names, "fastcgi_server_rejected_requests_total", "fastcgi_server_protocol_errors_total"]));
        sample.AssertNothingIsWrong();
    }

    [GeneratedRegex(@"targets: \[""(?<host>[^""]+)""\]")]
    private static partial Regex Target();

    [GeneratedRegex(@"(fastcgi_server|http_server)_\w+")]
    private static partial Regex Name();

    private sealed class Collector : IAsyncDisposable
    {
        private readonly ConcurrentQueue<(string Path, string Text)> _received = new();
        private readonly WebApplication _app;

        public Collector()
        {
            var builder = WebApplication.CreateSlimBuilder();
            builder.Logging.ClearProviders();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            _app = builder.Build();
            _app.Run(async context =>
            {
                using var body = new MemoryStream();
                await context.Request.Body.CopyToAsync(body);
                _received.Enqueue((context.Request.Path, Encoding.Latin1.GetString(body.ToArray())));
            });
        }

        public string Address => _app.Urls.Single();

        public Task StartAsync() => _app.StartAsync();

        public bool HasReceived(string path, string text)
            => _received.Any(item => item.Path == path && item.Text.Contains(text, StringComparison.Ordinal));

        public ValueTask DisposeAsync() => _app.DisposeAsync();
    }
}
