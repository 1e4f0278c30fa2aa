using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The meter of the server. All instruments but one are observable: they read existing state, so a request costs
/// nothing.
/// </summary>
internal static class ServerMetrics
{
    public const string MeterName = "FastCgi.AspNetCore";

    private const string Prefix = "fastcgi.server.";

    // Web servers keep connections for a minute to hours.
    private static readonly InstrumentAdvice<double> s_durations =
        new() { HistogramBucketBoundaries = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600] };

    private static readonly Dictionary<string, (string Unit, string Description)> s_instruments = new()
    {
        ["active_connections"] = ("{connection}", "Open connections from web servers."),
        ["connections"] = ("{connection}", "Connections opened by web servers."),
        ["rejected_connections"] = ("{connection}", "Connections closed because of a limit."),
        ["refused_connections"] = ("{connection}", "Connections from peers that are not allowed."),
        ["received"] = ("By", "Bytes received from web servers."),
        ["sent"] = ("By", "Bytes sent to web servers."),
        ["active_requests"] = ("{request}", "Requests that the application is handling."),
        ["requests"] = ("{request}", "Requests started."),
        ["queued_requests"] = ("{request}", "Requests waiting because MaxConcurrentRequests is reached."),
        ["rejected_requests"] = ("{request}", "Requests that the server rejected, or whose body it refused."),
        ["aborted_requests"] = ("{request}", "Requests that ended before their response was complete."),
        ["protocol_errors"] = ("{error}", "Connections closed because of a protocol error."),
        ["buffer_memory"] = ("By", "Memory of pooled buffers, in use or free."),
        ["hand_overs"] = ("{hand_over}", "Event loops and batches moved off a blocked thread."),
        ["threads"] = ("{thread}", "The server's own threads, including idle ones."),
        ["blocked_threads"] = ("{thread}", "Threads blocked by handlers."),
        ["requests_without_thread"] = ("{request}", "Requests waiting because MaxBlockingThreads is reached."),
    };

    public static Histogram<double> CreateDurations(Meter meter)
        => meter.CreateHistogram<double>(Prefix + "connection.duration", "s", "Duration of connections from web "
            + "servers.", tags: null, s_durations);

    public static void Observe(
        Meter meter, ServerContext server, ConnectionManager connections, RequestScheduler scheduler)
    {
        var counters = server.Counters;
        Gauge(meter, "active_connections", () => connections.Count);
        Counter(meter, "connections", () => connections.GetTotals().Connections);
        Counter(meter, "rejected_connections", () => counters.RejectedConnections);
        Counter(meter, "refused_connections", () => counters.RefusedPeers);
        Counter(meter, "received", () => connections.GetTotals().BytesReceived);
        Counter(meter, "sent", () => connections.GetTotals().BytesSent);
        Counter(meter, "protocol_errors", () => Tag("error.type", counters.ProtocolErrors));
        Gauge(meter, "active_requests", () => Math.Max(0, connections.CountRequests() - server.Admission.QueuedCount));
        Counter(meter, "requests", () => connections.GetTotals().Requests);
        Gauge(meter, "queued_requests", () => server.Admission.QueuedCount);
        Counter(meter, "rejected_requests", () => TagRejections(counters));
        Counter(meter, "aborted_requests", () => Tag("fastcgi.abort.cause", counters.AbortedRequests));
        Gauge(meter, "buffer_memory", () => server.Buffers.AllocatedBytes);
        Counter(meter, "hand_overs", () => scheduler.Watchdog.HandOverCount);
        Gauge(meter, "threads", () => scheduler.Workers.Count);
        Gauge(meter, "blocked_threads", () => scheduler.Workers.BlockedCount);
        Gauge(meter, "requests_without_thread", () => scheduler.Workers.WaitingCount);
        ObserveLimits(meter, server.Options);
    }

    private static void ObserveLimits(Meter meter, FastCgiServerOptions options)
    {
        var limits = options.Limits;
        Limit(meter, "active_connections", limits.MaxConcurrentConnections);
        Limit(meter, "active_requests", limits.MaxConcurrentRequests);
        Limit(meter, "queued_requests", limits.MaxConcurrentRequests is null ? null : limits.RequestQueueLimit);
        Limit(meter, "blocked_threads", options.Transport.MaxBlockingThreads);
    }

    private static void Gauge(Meter meter, string name, Func<long> read)
        => meter.CreateObservableUpDownCounter(
            Prefix + name, read, s_instruments[name].Unit, s_instruments[name].Description);

    private static void Counter(Meter meter, string name, Func<long> read)
        => meter.CreateObservableCounter(
            Prefix + name, read, s_instruments[name].Unit, s_instruments[name].Description);

    private static void Counter(Meter meter, string name, Func<IEnumerable<Measurement<long>>> read)
        => meter.CreateObservableCounter(
            Prefix + name, read, s_instruments[name].Unit, s_instruments[name].Description);

    private static void Limit(Meter meter, string name, long? limit)
    {
        if (limit is { } value)
            meter.CreateObservableUpDownCounter(
                $"{Prefix}{name}.limit", () => value, s_instruments[name].Unit, $"The limit of {Prefix}{name}.");
    }

    private static IEnumerable<Measurement<long>> TagRejections(ServerCounters counters)
        => counters.RejectedRequests.Select(static count => new Measurement<long>(
            count.Value,
            new KeyValuePair<string, object?>("http.response.status_code", count.Key.StatusCode),
            new KeyValuePair<string, object?>("error.type", count.Key.Reason)));

    private static IEnumerable<Measurement<long>> Tag<T>(string name, IEnumerable<KeyValuePair<T, long>> counts)
        where T : struct
        => counts.Select(count => new Measurement<long>(
            count.Value, new KeyValuePair<string, object?>(
                name, count.Key is Enum ? count.Key.ToString() : count.Key)));
}
