using System.Net;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Connections;

/// <summary>What is said to somebody who speaks HTTP or TLS to the FastCGI port: the first mistake of everybody who sets it up.</summary>
internal sealed class WrongProtocolReport(TimeProvider time)
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMinutes(1);

    private long _lastReport = long.MinValue;

    /// <summary>One readable line for the client that speaks HTTP.</summary>
    public static ReadOnlySpan<byte> HttpAnswer =>
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 105\r\n\r\n"u8 +
        "This port speaks FastCGI, not HTTP. Point a web server at it with fastcgi_pass, mod_proxy_fcgi or alike.\n"u8;

    /// <summary>Writes one line to the log, at the most once a minute: how much is logged is not the peer's to choose.</summary>
    public void Report(ILogger log, ProtocolError error, EndPoint? remote)
    {
        var now = time.GetTimestamp();
        var last = Interlocked.Read(ref _lastReport);
        if (last != long.MinValue && time.GetElapsedTime(last, now) < s_interval)
            return;

        if (Interlocked.CompareExchange(ref _lastReport, now, last) == last)
            log.WrongProtocol(error == ProtocolError.TlsOnFastCgiPort ? "TLS" : "HTTP", remote?.ToString() ?? "an unknown address");
    }
}
