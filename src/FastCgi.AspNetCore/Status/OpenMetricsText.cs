using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Status;

/// <summary>Writes a snapshot as OpenMetrics 1.0 text for Prometheus. Names are those of the meter, with underscores.</summary>
internal static class OpenMetricsText
{
    public const string ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    public static string Write(StatusSnapshot status)
    {
        var text = new StringBuilder();
        Gauge("uptime_seconds", "Time since the server started.", status.Uptime);
        Gauge("active_connections", "Open connections of web servers.", status.Connections.Active);
        Counter("connections", "Connections opened by web servers.", status.Connections.Total);
        Counter("rejected_connections", "Connections closed because of a limit.", status.Connections.Rejected);
        Counter("refused_connections", "Connections of peers that are not allowed.", status.Connections.Refused);
        Counter("received_bytes", "Bytes received from web servers.", status.Connections.BytesReceived);
        Counter("sent_bytes", "Bytes sent to web servers.", status.Connections.BytesSent);
        Counters("protocol_errors", "Connections closed because of a protocol error.", "error_type", status.Connections.ProtocolErrors);
        Gauge("active_requests", "Requests that the application is handling.", status.Requests.Active);
        Gauge("queued_requests", "Requests that wait because MaxConcurrentRequests are active.", status.Requests.Queued);
        Counter("requests", "Requests started.", status.Requests.Total);
        Counters("rejected_requests", "Requests that the server answered itself.", "reason", status.Requests.Rejected);
        Counters("aborted_requests", "Requests that ended before their response was complete.", "fastcgi_abort_cause", status.Requests.Aborted);
        Gauge("buffer_memory_bytes", "Memory of pooled buffers, in use or free.", status.Resources.BufferMemory);
        Counter("hand_overs", "Loops and batches moved from a blocked thread to another.", status.Resources.HandOvers);
        Gauge("threads", "Threads of the server.", status.Resources.Threads);
        Gauge("kept_threads", "Threads blocked by handlers.", status.Resources.KeptThreads);
        Gauge("requests_without_thread", "Requests that wait because MaxBlockingThreads are blocked.", status.Resources.RequestsWithoutThread);
        Gauge("recommendations", "Warnings that an operator can fix.", status.Recommendations.Count);
        WriteLatencies(text, status.Recent);
        return text.Append("# EOF\n").ToString();

        void Gauge(string name, string help, double value)
        {
            WriteHead(text, name, help, "gauge");
            Line(text, name, string.Empty, value);
        }

        void Counter(string name, string help, double value)
        {
            WriteHead(text, name, help, "counter");
            Line(text, name + "_total", string.Empty, value);
        }

        void Counters(string name, string help, string label, IReadOnlyDictionary<string, long> values)
        {
            WriteHead(text, name, help, "counter");
            foreach (var (key, value) in values)
                Line(text, name + "_total", $"{{{label}=\"{key}\"}}", value);
        }
    }

    private static void WriteLatencies(StringBuilder text, RecentStatus recent)
    {
        const string Name = "recent_latency_seconds";
        WriteHead(text, Name, "Latency of the requests of the last minute.", "gauge");
        foreach (var (part, value) in new[] { ("0.5", recent.P50), ("0.9", recent.P90), ("0.99", recent.P99), ("1", recent.Max) })
        {
            if (value is { } seconds)
                Line(text, Name, $"{{quantile=\"{part}\"}}", seconds);
        }
    }

    private static void WriteHead(StringBuilder text, string name, string help, string type)
        => text.Append(CultureInfo.InvariantCulture, $"# TYPE fastcgi_server_{name} {type}\n# HELP fastcgi_server_{name} {help}\n");

    private static void Line(StringBuilder text, string name, string labels, double value)
        => text.Append(CultureInfo.InvariantCulture, $"fastcgi_server_{name}{labels} {value}\n");
}
