using System.Globalization;
using FastCgi.AspNetCore.Status;

namespace FastCgi.AspNetCore.UnitTests.Status;

/// <summary>What Prometheus scrapes, as a whole.</summary>
public sealed class OpenMetricsTextTests
{
    private const string Expected = """
        # TYPE fastcgi_server_uptime_seconds gauge
        # HELP fastcgi_server_uptime_seconds Time since the server started.
        fastcgi_server_uptime_seconds 1.5
        # TYPE fastcgi_server_active_connections gauge
        # HELP fastcgi_server_active_connections Open connections of web servers.
        fastcgi_server_active_connections 11
        # TYPE fastcgi_server_connections counter
        # HELP fastcgi_server_connections Connections opened by web servers.
        fastcgi_server_connections_total 12
        # TYPE fastcgi_server_rejected_connections counter
        # HELP fastcgi_server_rejected_connections Connections closed because of a limit.
        fastcgi_server_rejected_connections_total 13
        # TYPE fastcgi_server_refused_connections counter
        # HELP fastcgi_server_refused_connections Connections of peers that are not allowed.
        fastcgi_server_refused_connections_total 14
        # TYPE fastcgi_server_received_bytes counter
        # HELP fastcgi_server_received_bytes Bytes received from web servers.
        fastcgi_server_received_bytes_total 15000000000
        # TYPE fastcgi_server_sent_bytes counter
        # HELP fastcgi_server_sent_bytes Bytes sent to web servers.
        fastcgi_server_sent_bytes_total 16
        # TYPE fastcgi_server_protocol_errors counter
        # HELP fastcgi_server_protocol_errors Connections closed because of a protocol error.
        fastcgi_server_protocol_errors_total{error_type="BadRecord"} 17
        fastcgi_server_protocol_errors_total{error_type="WrongProtocol"} 18
        # TYPE fastcgi_server_active_requests gauge
        # HELP fastcgi_server_active_requests Requests that the application is handling.
        fastcgi_server_active_requests 21
        # TYPE fastcgi_server_queued_requests gauge
        # HELP fastcgi_server_queued_requests Requests that wait because MaxConcurrentRequests are active.
        fastcgi_server_queued_requests 22
        # TYPE fastcgi_server_requests counter
        # HELP fastcgi_server_requests Requests started.
        fastcgi_server_requests_total 23
        # TYPE fastcgi_server_rejected_requests counter
        # HELP fastcgi_server_rejected_requests Requests that the server answered itself.
        fastcgi_server_rejected_requests_total{reason="400 MissingMethod"} 24
        # TYPE fastcgi_server_aborted_requests counter
        # HELP fastcgi_server_aborted_requests Requests that ended before their response was complete.
        fastcgi_server_aborted_requests_total{fastcgi_abort_cause="ByWebServer"} 25
        # TYPE fastcgi_server_buffer_memory_bytes gauge
        # HELP fastcgi_server_buffer_memory_bytes Memory of pooled buffers, in use or free.
        fastcgi_server_buffer_memory_bytes 41
        # TYPE fastcgi_server_hand_overs counter
        # HELP fastcgi_server_hand_overs Loops and batches moved from a blocked thread to another.
        fastcgi_server_hand_overs_total 46
        # TYPE fastcgi_server_threads gauge
        # HELP fastcgi_server_threads Threads of the server.
        fastcgi_server_threads 47
        # TYPE fastcgi_server_kept_threads gauge
        # HELP fastcgi_server_kept_threads Threads blocked by handlers.
        fastcgi_server_kept_threads 48
        # TYPE fastcgi_server_requests_without_thread gauge
        # HELP fastcgi_server_requests_without_thread Requests that wait because MaxBlockingThreads are blocked.
        fastcgi_server_requests_without_thread 49
        # TYPE fastcgi_server_recommendations gauge
        # HELP fastcgi_server_recommendations Warnings that an operator can fix.
        fastcgi_server_recommendations 1
        # TYPE fastcgi_server_recent_latency_seconds gauge
        # HELP fastcgi_server_recent_latency_seconds Latency of the requests of the last minute.
        fastcgi_server_recent_latency_seconds{quantile="0.5"} 0.25
        fastcgi_server_recent_latency_seconds{quantile="0.9"} 0.5
        fastcgi_server_recent_latency_seconds{quantile="1"} 4
        # EOF

        """;

    [Fact]
    public void Write_Snapshot_IsThisText() => Assert.Equal(Expected, OpenMetricsText.Write(Snapshots.Full));

    /// <summary>A decimal comma would be another number to whoever scrapes.</summary>
    [Fact]
    public void Write_ThreadOfAnotherCulture_IsTheSameText()
    {
        var before = CultureInfo.CurrentCulture;
        // Made by hand: a container may have no cultures.
        var other = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        other.NumberFormat.NumberDecimalSeparator = ",";
        other.NumberFormat.NegativeSign = "~";
        try
        {
            CultureInfo.CurrentCulture = other;
            Assert.Equal(Expected, OpenMetricsText.Write(Snapshots.Full));
        }
        finally
        {
            CultureInfo.CurrentCulture = before;
        }
    }
}
