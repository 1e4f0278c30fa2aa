using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The meter. All instruments but one read existing state, so a request costs nothing.</summary>
internal static class ServerMetrics
{
    public const string MeterName = "FastCgi.AspNetCore";

    private const string Prefix = "fastcgi.server.";

    // Web servers keep connections for a minute to hours.
    private static readonly InstrumentAdvice<double> s_durations =
        new() { HistogramBucketBoundaries = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600] };

    public static Histogram<double> CreateDurations(Meter meter)
        => meter.CreateHistogram(
            Prefix + "connection.duration", "s", "Duration of connections from web servers.", tags: null, s_durations);

    public static void Observe(
        Meter meter, ServerContext server, ConnectionManager connections, RequestScheduler scheduler)
    {
        var counters = server.Counters;
        var limits = server.Options.Limits;
        var sums = new ConnectionSums(connections, server.Admission);
        Gauge(meter, "active_connections", "{connection}", "Open connections from web servers.",
            () => connections.Count, limits.MaxConcurrentConnections);
        Counter(meter, "connections", "{connection}", "Connections opened by web servers.",
            () => sums.Read(1).Connections);
        Counter(meter, "rejected_connections", "{connection}", "Connections closed because of a limit.",
            () => counters.RejectedConnections);
        Counter(meter, "refused_connections", "{connection}", "Connections from peers that are not allowed.",
            () => counters.RefusedPeers);
        Counter(meter, "received", "By", "Bytes received from web servers.",
            () => sums.Read(2).BytesReceived);
        Counter(meter, "sent", "By", "Bytes sent to web servers.",
            () => sums.Read(4).BytesSent);
        Counter(meter, "protocol_errors", "{error}", "Connections closed because of a protocol error.",
            () => Tag("error.type", counters.ProtocolErrors));
        Gauge(meter, "active_requests", "{request}", "Requests that the application is handling.",
            () => sums.Read(16).Active,
            limits.MaxConcurrentRequests);
        Counter(meter, "requests", "{request}", "Requests started.",
            () => sums.Read(8).Requests);
        Gauge(meter, "queued_requests", "{request}", "Requests waiting because MaxConcurrentRequests is reached.",
            () => server.Admission.QueuedCount,
            limits.MaxConcurrentRequests is null ? null : limits.RequestQueueLimit);
        Counter(meter, "rejected_requests", "{request}", "Requests that the server rejected, or whose body it refused.",
            () => counters.RejectedRequests.Select(static count => new Measurement<long>(
                count.Value, new("http.response.status_code", count.Key.GetStatusCode()),
                new("error.type", count.Key.ToString()))));
        Counter(meter, "aborted_requests", "{request}", "Requests that ended before their response was complete.",
            () => Tag("fastcgi.abort.cause", counters.AbortedRequests));
        Gauge(meter, "buffer_memory", "By", "Memory of pooled buffers, in use or free.",
            () => server.Buffers.AllocatedBytes);
        Counter(meter, "hand_overs", "{hand_over}", "Event loops and batches moved off a blocked thread.",
            () => scheduler.Watchdog.HandOverCount);
        Gauge(meter, "threads", "{thread}", "The server's own threads, including idle ones.",
            () => scheduler.Workers.Count);
        Gauge(meter, "blocked_threads", "{thread}", "Threads blocked by handlers.",
            () => scheduler.Workers.BlockedCount, server.Options.Transport.MaxBlockingThreads);
        Gauge(meter, "requests_without_thread", "{request}", "Requests waiting because MaxBlockingThreads is reached.",
            () => scheduler.Workers.WaitingCount);
    }

    /// <param name="limit">The limit of the value, which is a metric too.</param>
    private static void Gauge(
        Meter meter, string name, string unit, string description, Func<long> read, long? limit = null)
    {
        meter.CreateObservableUpDownCounter(Prefix + name, read, unit, description);
        if (limit is { } value)
            meter.CreateObservableUpDownCounter(
                $"{Prefix}{name}.limit", () => value, unit, $"The limit of {Prefix}{name}.");
    }

    private static void Counter(Meter meter, string name, string unit, string description, Func<long> read)
        => meter.CreateObservableCounter(Prefix + name, read, unit, description);

    private static void Counter(
        Meter meter, string name, string unit, string description, Func<IEnumerable<Measurement<long>>> read)
        => meter.CreateObservableCounter(Prefix + name, read, unit, description);

    private static IEnumerable<Measurement<long>> Tag<T>(string name, IEnumerable<KeyValuePair<T, long>> counts)
        where T : struct, Enum
        => counts.Select(count => new Measurement<long>(
            count.Value, new KeyValuePair<string, object?>(name, count.Key.ToString())));

    /// <summary>The sums over all connections, computed once for the instruments of one collection.</summary>
    private sealed class ConnectionSums(ConnectionManager connections, RequestAdmission admission)
    {
        private readonly Lock _lock = new();
        private int _readers;
        private long _readAt;
        private Totals _totals;

        /// <param name="reader">The instrument, a bit. When it reads again, a new collection has begun.</param>
        public Totals Read(int reader)
        {
            using (_lock.Acquire())
            {
                if (_readers == 0 || (_readers & reader) != 0 || _readAt != connections.Now)
                {
                    _readers = 0;
                    _readAt = connections.Now;
                    var totals = connections.GetTotals();
                    _totals = totals with { Active = Math.Max(0, totals.Active - admission.QueuedCount) };
                }

                _readers |= reader;
                return _totals;
            }
        }
    }
}
