using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The meter of the server. All instruments but one are observable: they read existing state, so a request costs nothing.</summary>
internal static class ServerMetrics
{
    public const string MeterName = "FastCgi.AspNetCore";

    // Instruments that share a walk over the connections.
    private const int OpenedConnections = 1;
    private const int ReceivedBytes = 2;
    private const int SentBytes = 4;
    private const int BegunRequests = 8;
    private const int ActiveRequests = 16;

    // Measured in whole seconds; web servers keep connections for a minute to hours.
    private static readonly InstrumentAdvice<double> s_durations = new() { HistogramBucketBoundaries = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600] };

    /// <summary>The meter factory disposes the instruments.</summary>
    public static Histogram<double> CreateDurations(Meter meter)
        => meter.CreateHistogram<double>("fastcgi.server.connection.duration", "s", "Duration of connections of web servers.", tags: null, s_durations);

    public static void Observe(Meter meter, ConnectionManager connections, RequestScheduler scheduler)
    {
        var totals = CollectedTotals.Of(connections);
        ObserveConnections(meter, connections, totals);
        ObserveRequests(meter, connections.Server, totals);
        ObserveResources(meter, connections, scheduler);
        ObserveLimits(meter, connections.Server.Options);
    }

    private static void ObserveConnections(Meter meter, ConnectionManager connections, CollectedTotals totals)
    {
        var counters = connections.Server.Counters;
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.active_connections", () => (long)connections.Count, "{connection}", "Open connections of web servers.");
        meter.CreateObservableCounter(
            "fastcgi.server.connections", () => totals.Read(OpenedConnections).Totals.Connections, "{connection}", "Connections opened by web servers.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_connections", () => counters.RejectedConnections, "{connection}", "Connections closed because of a limit.");
        meter.CreateObservableCounter(
            "fastcgi.server.refused_connections", () => counters.RefusedPeers, "{connection}", "Connections of peers that are not allowed.");
        meter.CreateObservableCounter(
            "fastcgi.server.received", () => totals.Read(ReceivedBytes).Totals.BytesReceived, "By", "Bytes received from web servers.");
        meter.CreateObservableCounter(
            "fastcgi.server.sent", () => totals.Read(SentBytes).Totals.BytesSent, "By", "Bytes sent to web servers.");
    }

    private static void ObserveRequests(Meter meter, ServerContext server, CollectedTotals totals)
    {
        var counters = server.Counters;
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.active_requests", () => totals.Read(ActiveRequests).ActiveRequests, "{request}", "Requests that the application is handling.");
        meter.CreateObservableCounter(
            "fastcgi.server.requests", () => totals.Read(BegunRequests).Totals.Requests, "{request}", "Requests started.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.queued_requests", () => (long)server.Admission.QueuedCount, "{request}", "Requests that wait because MaxConcurrentRequests are active.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_requests", () => TagRejections(counters), "{request}", "Requests that the server answered itself, or whose body it refused.");
        meter.CreateObservableCounter(
            "fastcgi.server.aborted_requests", () => Tag("fastcgi.abort.cause", counters.AbortedRequests), "{request}", "Requests that ended before their response was complete.");
        meter.CreateObservableCounter(
            "fastcgi.server.protocol_errors", () => Tag("error.type", counters.ProtocolErrors), "{error}", "Connections closed because of a protocol error.");
    }

    private static void ObserveResources(Meter meter, ConnectionManager connections, RequestScheduler scheduler)
    {
        var server = connections.Server;
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.buffer_memory", () => server.Buffers.AllocatedBytes, "By", "Memory of pooled buffers, in use or free.");
        meter.CreateObservableCounter(
            "fastcgi.server.hand_overs", () => scheduler.Watchdog.HandOverCount, "{hand_over}", "Loops and batches moved from a blocked thread to another.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.threads", () => (long)scheduler.Workers.Count, "{thread}", "Threads of the server that run loops and handlers, or are idle.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.kept_threads", () => (long)scheduler.Workers.ReservedCount, "{thread}", "Threads blocked by handlers.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.requests_without_thread", () => (long)scheduler.Workers.WaitingCount, "{request}", "Requests that wait because MaxBlockingThreads are blocked.");
    }

    private static void ObserveLimits(Meter meter, FastCgiServerOptions options)
    {
        var limits = options.Limits;
        ObserveLimit("active_connections", limits.MaxConcurrentConnections, "{connection}");
        ObserveLimit("active_requests", limits.MaxConcurrentRequests, "{request}");
        ObserveLimit("queued_requests", limits.MaxConcurrentRequests is null ? null : limits.RequestQueueLimit, "{request}");
        ObserveLimit("kept_threads", options.Transport.MaxBlockingThreads, "{thread}");

        void ObserveLimit(string name, long? limit, string unit)
        {
            if (limit is { } value)
                meter.CreateObservableUpDownCounter($"fastcgi.server.{name}.limit", () => value, unit, $"The limit of fastcgi.server.{name}.");
        }
    }

    private static IEnumerable<Measurement<long>> TagRejections(ServerCounters counters) => counters.RejectedRequests.Select(static count => new Measurement<long>(
        count.Value, new("http.response.status_code", count.Key.StatusCode), new KeyValuePair<string, object?>("error.type", count.Key.Reason)));

    private static IEnumerable<Measurement<long>> Tag<T>(string name, IEnumerable<KeyValuePair<T, long>> counts)
        where T : struct
        => counts.Select(count => new Measurement<long>(count.Value, new KeyValuePair<string, object?>(name, count.Key is Enum ? count.Key.ToString() : count.Key)));
}
