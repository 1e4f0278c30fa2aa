using System.Globalization;
using System.Text;

namespace FastCgi.AspNetCore.Status;

/// <summary>Writes a snapshot as OpenMetrics 1.0 text, which Prometheus scrapes. The names are those of the meter, with underscores.</summary>
internal static class OpenMetricsText
{
    /// <summary>The media type.</summary>
    public const string ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// <summary>Writes it.</summary>
    public static string Write(StatusSnapshot status)
    {
        var text = new StringBuilder();
        Gauge("uptime_seconds", "Time since the start.", status.Uptime);
        Gauge("active_connections", "Connections of web servers that are open.", status.Connections.Active);
        Counter("connections", "Connections of web servers that were opened.", status.Connections.Total);
        Counter("rejected_connections", "Connections that were closed at once, because there was no place for them.", status.Connections.Rejected);
        Counter("refused_connections", "Connections of peers that may not connect.", status.Connections.Refused);
        Counter("received_bytes", "Bytes that web servers have sent.", status.Connections.BytesReceived);
        Counter("sent_bytes", "Bytes that were sent to web servers.", status.Connections.BytesSent);
        Counters("protocol_errors", "Connections that were closed because of what came on them.", "error_type", status.Connections.ProtocolErrors);
        Gauge("active_requests", "Requests that the application works on.", status.Requests.Active);
        Gauge("queued_requests", "Requests that wait because MaxConcurrentRequests are under way.", status.Requests.Queued);
        Counter("requests", "Requests that have begun.", status.Requests.Total);
        Counters("rejected_requests", "Requests that the server answered itself.", "reason", status.Requests.Rejected);
        Counters("aborted_requests", "Requests that ended before their answer was complete.", "fastcgi_abort_cause", status.Requests.Aborted);
        Gauge("buffer_memory_bytes", "Memory of the pooled buffers, in use or not.", status.Resources.BufferMemory);
        Counter("hand_overs", "Loops and batches that were taken from a thread that a handler kept.", status.Resources.HandOvers);
        Gauge("threads", "Threads of the server's own.", status.Resources.Threads);
        Gauge("kept_threads", "Threads that handlers keep.", status.Resources.KeptThreads);
        Gauge("requests_without_thread", "Requests that wait because MaxBlockingThreads are kept.", status.Resources.RequestsWithoutThread);
        Gauge("recommendations", "Warnings that an operator can mend.", status.Recommendations.Count);
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
        WriteHead(text, Name, "How long the requests of the last minute took.", "gauge");
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
