using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Connections;

/// <summary>What is said to somebody who speaks HTTP or TLS to the FastCGI port: the first mistake of everybody who sets it up.</summary>
internal sealed class WrongProtocolReport(TimeProvider time)
{
    // One for each, because a client that speaks the one must not hide a web server that speaks the other.
    private readonly LogRateLimit _http = new(time);
    private readonly LogRateLimit _tls = new(time);

    /// <summary>One readable line for the client that speaks HTTP.</summary>
    public static ReadOnlySpan<byte> HttpAnswer =>
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 105\r\n\r\n"u8 +
        "This port speaks FastCGI, not HTTP. Point a web server at it with fastcgi_pass, mod_proxy_fcgi or alike.\n"u8;

    /// <summary>Writes a line to the log, at most once a minute for each protocol.</summary>
    public void Report(ILogger log, ProtocolError error, ConnectionTransport peer)
    {
        var (limit, protocol) = error == ProtocolError.TlsOnFastCgiPort ? (_tls, "TLS") : (_http, "HTTP");
        if (limit.TryAcquire(out var count))
            log.WrongProtocol(protocol, peer.DescribePeer(), count);
    }
}
