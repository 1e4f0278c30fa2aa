using FastCgi.AspNetCore.Hosting;

namespace FastCgi.AspNetCore.Status;

/// <summary>Writes a snapshot as OpenMetrics 1.0 text for Prometheus. Names are those of the meter, with underscores.</summary>
internal static class OpenMetricsText
{
    public const string ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    public static string Write(StatusSnapshot status)
    {
        var text = new StringBuilder();
        Gauge("uptime_seconds", status.Uptime, "Time since the server started.");
        Gauge("active_connections", status.Connections.Active);
        Counter("connections", status.Connections.Total);
        Counter("rejected_connections", status.Connections.Rejected);
        Counter("refused_connections", status.Connections.Refused);
        Counter("received_bytes", status.Connections.BytesReceived);
        Counter("sent_bytes", status.Connections.BytesSent);
        Counters("protocol_errors", "error_type", status.Connections.ProtocolErrors);
        Gauge("active_requests", status.Requests.Active);
        Gauge("queued_requests", status.Requests.Queued);
        Counter("requests", status.Requests.Total);
        Counters("rejected_requests", "reason", status.Requests.Rejected);
        Counters("aborted_requests", "fastcgi_abort_cause", status.Requests.Aborted);
        Gauge("buffer_memory_bytes", status.Resources.BufferMemory);
        Counter("hand_overs", status.Resources.HandOvers);
        Gauge("threads", status.Resources.Threads);
        Gauge("kept_threads", status.Resources.KeptThreads);
        Gauge("requests_without_thread", status.Resources.RequestsWithoutThread);
        Gauge("recommendations", status.Recommendations.Count, "Warnings that an operator can fix.");
        WriteLatencies(text, status.Recent);
        return text.Append("# EOF\n").ToString();

        void Gauge(string name, double value, string? help = null)
        {
            WriteHead(text, name, "gauge", help);
            Line(text, name, string.Empty, value);
        }

        void Counter(string name, double value)
        {
            WriteHead(text, name, "counter");
            Line(text, name + "_total", string.Empty, value);
        }

        void Counters(string name, string label, IReadOnlyDictionary<string, long> values)
        {
            WriteHead(text, name, "counter");
            foreach (var (key, value) in values)
                Line(text, name + "_total", $"{{{label}=\"{key}\"}}", value);
        }
    }

    private static void WriteLatencies(StringBuilder text, RecentStatus recent)
    {
        const string Name = "recent_latency_seconds";
        WriteHead(text, Name, "gauge", "Latency of requests in the last minute.");
        foreach (var (part, value) in new[] { ("0.5", recent.P50), ("0.9", recent.P90), ("0.99", recent.P99), ("1", recent.Max) })
        {
            if (value is { } seconds)
                Line(text, Name, $"{{quantile=\"{part}\"}}", seconds);
        }
    }

    private static void WriteHead(StringBuilder text, string name, string type, string? help = null)
    {
        // The unit is part of the name here, and a property of the meter's instrument.
        help ??= ServerMetrics.Describe(name.Replace("_bytes", "", StringComparison.Ordinal));
        text.Append(CultureInfo.InvariantCulture, $"# TYPE fastcgi_server_{name} {type}\n# HELP fastcgi_server_{name} {help}\n");
    }

    private static void Line(StringBuilder text, string name, string labels, double value)
        => text.Append(CultureInfo.InvariantCulture, $"fastcgi_server_{name}{labels} {value}\n");
}
