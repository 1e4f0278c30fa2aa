using FastCgi.AspNetCore.Status;

namespace FastCgi.AspNetCore.UnitTests.Status;

/// <summary>What Prometheus scrapes, as a whole.</summary>
public sealed class OpenMetricsTextTests
{
    /// <summary>The type, the name, the help text, and the values with their labels.</summary>
    private static readonly string[] s_metrics =
    [
        "gauge|uptime_seconds|Time since the start.| 1.5",
        "gauge|active_connections|Connections of web servers that are open.| 11",
        "counter|connections|Connections of web servers that were opened.| 12",
        "counter|rejected_connections|Connections that were closed at once, because there was no place for them.| 13",
        "counter|refused_connections|Connections of peers that may not connect.| 14",
        "counter|received_bytes|Bytes that web servers have sent.| 15000000000",
        "counter|sent_bytes|Bytes that were sent to web servers.| 16",
        """counter|protocol_errors|Connections that were closed because of what came on them.|{error_type="BadRecord"} 17|{error_type="WrongProtocol"} 18""",
        "gauge|active_requests|Requests that the application works on.| 21",
        "gauge|queued_requests|Requests that wait because MaxConcurrentRequests are under way.| 22",
        "counter|requests|Requests that have begun.| 23",
        """counter|rejected_requests|Requests that the server answered itself.|{reason="400 MissingMethod"} 24""",
        """counter|aborted_requests|Requests that ended before their answer was complete.|{fastcgi_abort_cause="ByWebServer"} 25""",
        "gauge|buffer_memory_bytes|Memory of the pooled buffers, in use or not.| 41",
        "counter|hand_overs|Loops and batches that were taken from a thread that a handler kept.| 46",
        "gauge|threads|Threads of the server's own.| 47",
        "gauge|kept_threads|Threads that handlers keep.| 48",
        "gauge|requests_without_thread|Requests that wait because MaxBlockingThreads are kept.| 49",
        "gauge|recommendations|Warnings that an operator can mend.| 1",
        """gauge|recent_latency_seconds|How long the requests of the last minute took.|{quantile="0.5"} 0.25|{quantile="0.9"} 0.5|{quantile="1"} 4""",
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
