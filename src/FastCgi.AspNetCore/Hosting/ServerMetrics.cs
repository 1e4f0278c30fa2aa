using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The meter of the server. All instruments are observable: they read what the server knows anyway when somebody collects, and cost a
/// request nothing, be there a listener or not.
/// </summary>
internal static class ServerMetrics
{
    private const string MeterName = "FastCgi.AspNetCore";

    /// <summary>Makes the instruments. The factory disposes of them.</summary>
    public static void Observe(IMeterFactory factory, ConnectionManager connections)
    {
        var meter = factory.Create(MeterName);
        var server = connections.Server;
        var counters = server.Counters;

        meter.CreateObservableUpDownCounter(
            "fastcgi.server.active_connections", () => (long)connections.Count, "{connection}", "Connections of web servers that are open.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_connections", () => counters.RejectedConnections, "{connection}", "Connections that were closed at once, for there was no place for them.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.active_requests", () => Math.Max(0, connections.CountRequests() - server.Admission.QueuedCount), "{request}", "Requests that the application works on.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.queued_requests", () => (long)server.Admission.QueuedCount, "{request}", "Requests that wait because MaxConcurrentRequests are under way.");
        meter.CreateObservableCounter(
            "fastcgi.server.rejected_requests", () => Tag("http.response.status_code", counters.RejectedRequests), "{request}", "Requests that the server answered itself.");
        meter.CreateObservableCounter(
            "fastcgi.server.aborted_requests", () => counters.AbortedRequests, "{request}", "Requests that the web server aborted, or whose connection was lost.");
        meter.CreateObservableCounter(
            "fastcgi.server.protocol_errors", () => Tag("error.type", counters.ProtocolErrors), "{error}", "Connections that were closed because of what came on them.");
        meter.CreateObservableUpDownCounter(
            "fastcgi.server.buffer_memory", () => server.Buffers.AllocatedBytes, "By", "Memory of the pooled buffers, in use or not.");
    }

    private static IEnumerable<Measurement<long>> Tag<T>(string name, IEnumerable<KeyValuePair<T, long>> counts)
        where T : struct
        => counts.Select(count => new Measurement<long>(count.Value, new KeyValuePair<string, object?>(name, count.Key is Enum ? count.Key.ToString() : count.Key)));
}
