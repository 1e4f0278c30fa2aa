using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The meter of the server. Its instruments are observable: they read what the server knows anyway when somebody collects, and cost a
/// request nothing, be there a listener or not. The one that is not, of the connections' durations, is recorded when a connection has
/// ended.
/// </summary>
internal static class ServerMetrics
{
    /// <summary>The name of the meter.</summary>
    public const string MeterName = "FastCgi.AspNetCore";

    // The instruments that read the same walk over the connections.
    private const int OpenedConnections = 1;
    private const int ReceivedBytes = 2;
    private const int SentBytes = 4;
    private const int BegunRequests = 8;
    private const int ActiveRequests = 16;

    // A second is what they are measured to; web servers keep connections for a minute to hours.
    private static readonly InstrumentAdvice<double> s_durations = new() { HistogramBucketBoundaries = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600] };

    /// <summary>Makes the instrument that is recorded. The factory of the meter disposes of all of them.</summary>
    public static Histogram<double> CreateDurations(Meter meter)
        => meter.CreateHistogram<double>("fastcgi.server.connection.duration", "s", "How long connections of web servers were open.", tags: null, s_durations);

    /// <summary>Makes the instruments that are read.</summary>
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
            "fastcgi.server.active_connections", () => (long)connections.Count, "{connection}", "Connections of web servers that are open.");
        meter.CreateObservableCounter(
            "fastcgi.server.connections", () => totals.Read(OpenedConnections).Totals.Connections, "{connection}", "Connections of web servers that were opened.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_connections", () => counters.RejectedConnections, "{connection}", "Connections that were closed at once, because there was no place for them.");
        meter.CreateObservableCounter(
            "fastcgi.server.refused_connections", () => counters.RefusedPeers, "{connection}", "Connections of peers that may not connect.");
        meter.CreateObservableCounter(
            "fastcgi.server.received", () => totals.Read(ReceivedBytes).Totals.BytesReceived, "By", "Bytes that web servers have sent.");
        meter.CreateObservableCounter(
            "fastcgi.server.sent", () => totals.Read(SentBytes).Totals.BytesSent, "By", "Bytes that were sent to web servers.");
    }

    private static void ObserveRequests(Meter meter, ServerContext server, CollectedTotals totals)
    {
        var counters = server.Counters;
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.active_requests", () => totals.Read(ActiveRequests).ActiveRequests, "{request}", "Requests that the application works on.");
        meter.CreateObservableCounter(
            "fastcgi.server.requests", () => totals.Read(BegunRequests).Totals.Requests, "{request}", "Requests that have begun.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.queued_requests", () => (long)server.Admission.QueuedCount, "{request}", "Requests that wait because MaxConcurrentRequests are under way.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_requests", () => TagRejections(counters), "{request}", "Requests that the server answered itself, or whose body it refused.");
        meter.CreateObservableCounter(
            "fastcgi.server.aborted_requests", () => Tag("fastcgi.abort.cause", counters.AbortedRequests), "{request}", "Requests that ended before their answer was complete.");
        meter.CreateObservableCounter(
            "fastcgi.server.protocol_errors", () => Tag("error.type", counters.ProtocolErrors), "{error}", "Connections that were closed because of what came on them.");
    }

    private static void ObserveResources(Meter meter, ConnectionManager connections, RequestScheduler scheduler)
    {
        var server = connections.Server;
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.buffer_memory", () => server.Buffers.AllocatedBytes, "By", "Memory of the pooled buffers, in use or not.");
        meter.CreateObservableCounter(
            "fastcgi.server.hand_overs", () => scheduler.Watchdog.HandOverCount, "{hand_over}", "Loops and batches that were taken from a thread that a handler kept.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.threads", () => (long)scheduler.Workers.Count, "{thread}", "Threads of the server's own that run loops and handlers, or are idle.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.kept_threads", () => (long)scheduler.Workers.ReservedCount, "{thread}", "Threads that handlers keep.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.requests_without_thread", () => (long)scheduler.Workers.WaitingCount, "{request}", "Requests that wait because MaxBlockingThreads are kept.");
    }

    /// <summary>Limits that are set, beside what they limit.</summary>
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
