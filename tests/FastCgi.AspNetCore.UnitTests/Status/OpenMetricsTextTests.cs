using FastCgi.AspNetCore.Status;

namespace FastCgi.AspNetCore.UnitTests.Status;

/// <summary>What Prometheus scrapes, as a whole.</summary>
public sealed class OpenMetricsTextTests
{
    /// <summary>The type, the name, the help text, and the values with their labels.</summary>
    private static readonly string[] s_metrics =
    [
        "gauge|uptime_seconds|Time since the server started.| 1.5",
        "gauge|active_connections|Open connections from web servers.| 11",
        "counter|connections|Connections opened by web servers.| 12",
        "counter|rejected_connections|Connections closed because of a limit.| 13",
        "counter|refused_connections|Connections from peers that are not allowed.| 14",
        "counter|received_bytes|Bytes received from web servers.| 15000000000",
        "counter|sent_bytes|Bytes sent to web servers.| 16",
        """counter|protocol_errors|Connections closed because of a protocol error.|{error_type="BadRecord"} 17|{error_type="WrongProtocol"} 18""",
        "gauge|active_requests|Requests that the application is handling.| 21",
        "gauge|queued_requests|Requests waiting because MaxConcurrentRequests is reached.| 22",
        "counter|requests|Requests started.| 23",
        """counter|rejected_requests|Requests that the server rejected, or whose body it refused.|{reason="400 MissingMethod"} 24""",
        """counter|aborted_requests|Requests that ended before their response was complete.|{fastcgi_abort_cause="ByWebServer"} 25""",
        "gauge|buffer_memory_bytes|Memory of pooled buffers, in use or free.| 41",
        "counter|hand_overs|Event loops and batches moved off a blocked thread.| 46",
        "gauge|threads|The server's own threads, including idle ones.| 47",
        "gauge|kept_threads|Threads blocked by handlers.| 48",
        "gauge|requests_without_thread|Requests waiting because MaxBlockingThreads is reached.| 49",
        "gauge|recommendations|Warnings that an operator can fix.| 1",
        """gauge|recent_latency_seconds|Latency of requests in the last minute.|{quantile="0.5"} 0.25|{quantile="0.9"} 0.5|{quantile="1"} 4""",
    ];

    /// <summary>A decimal comma would be another number to whoever scrapes.</summary>
    [Theory]
    [InlineData(".", "-")]
    [InlineData(",", "~")]
    public void Write_InAnyCulture_IsThisText(string decimalSeparator, string negativeSign)
    {
        var before = CultureInfo.CurrentCulture;
        // Made by hand: a container may have no cultures.
        var culture = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        (culture.NumberFormat.NumberDecimalSeparator, culture.NumberFormat.NegativeSign) = (decimalSeparator, negativeSign);
        try
        {
            CultureInfo.CurrentCulture = culture;
            Assert.Equal(string.Concat(s_metrics.Select(Format)) + "# EOF\n", OpenMetricsText.Write(Snapshots.Full));
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }

    private static string Format(string metric)
    {
        var parts = metric.Split('|');
        var name = "fastcgi_server_" + parts[1];
        var samples = parts[3..].Select(sample => $"{name}{(parts[0] == "counter" ? "_total" : "")}{sample}\n");
        return $"# TYPE {name} {parts[0]}\n# HELP {name} {parts[2]}\n{string.Concat(samples)}";
    }
}
