using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Advice;

/// <summary>The lines that a web server's configuration lacks. The pages in <c>docs/front-ends</c> have them in their place.</summary>
internal static class FrontEndLines
{
    private const string BehindLoadBalancer = "or, where a load balancer in front ends TLS, the lines of \"Behind a load balancer\" on the web server's page in docs/front-ends";

    /// <summary>What passes the scheme.</summary>
    public static string Scheme(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => $"fastcgi_param HTTPS $https if_not_empty; {BehindLoadBalancer}",
        WebServerKind.HaProxy => "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https } to the fcgi-app section, as \"Behind a load balancer\" in docs/front-ends/haproxy.md has it",
        WebServerKind.Apache or WebServerKind.Lighttpd => "the lines of \"Behind a load balancer\" on the web server's page in docs/front-ends",
        _ => "the parameter HTTPS with the value on, " + BehindLoadBalancer,
    };

    /// <summary>What passes the host.</summary>
    public static string Host(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => "fastcgi_param HTTP_HOST $host:$server_port; behind include fastcgi_params;",
        _ => "the parameter HTTP_HOST with the host that the client asked for",
    };

    /// <summary>What keeps connections.</summary>
    /// <returns><see langword="null"/> of a web server that keeps them anyway, or cannot.</returns>
    public static string? KeptConnections(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => "fastcgi_keep_conn on; to the location, and keepalive 16; to an upstream that fastcgi_pass names",
        WebServerKind.Apache => "enablereuse=on at the end of the ProxyPass line",
        _ => null,
    };

    /// <summary>What lets an answer take longer.</summary>
    public static string ReadTimeout(string? software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => "fastcgi_read_timeout 120s;",
        WebServerKind.Apache => "timeout=120 at the end of the ProxyPass line",
        WebServerKind.HaProxy => "timeout server 120s to the backend section",
        WebServerKind.Lighttpd => "\"read-timeout\" => 120 to fastcgi.server",
        _ => "a longer time-out to its configuration",
    };
}
