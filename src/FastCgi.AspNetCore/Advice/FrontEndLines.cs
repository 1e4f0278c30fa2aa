namespace FastCgi.AspNetCore.Advice;

/// <summary>Lines to add to the configuration of web servers, as in <c>docs/front-ends</c>.</summary>
internal static class FrontEndLines
{
    private const string BehindLoadBalancer =
        "or, if a load balancer terminates TLS, the lines under \"Behind a load balancer\" on the web server's "
        + "page in " + FastCgiLog.Docs + "front-ends";

    public static string Scheme(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => $"fastcgi_param HTTPS $https if_not_empty; {BehindLoadBalancer}",
        WebServerKind.HaProxy => "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str "
            + "https } to the fcgi-app section, as shown under \"Behind a load balancer\" in "
            + FastCgiLog.Docs + "front-ends/haproxy.md",
        WebServerKind.Apache or WebServerKind.Lighttpd
            => "the lines under \"Behind a load balancer\" on the web server's page in "
                + FastCgiLog.Docs + "front-ends",
        _ => "the parameter HTTPS with the value on, " + BehindLoadBalancer,
    };

    public static string Host(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => "fastcgi_param HTTP_HOST $host:$server_port; after include fastcgi_params;",
        _ => "the parameter HTTP_HOST with the host that the client requested",
    };

    /// <returns><see langword="null"/> if the web server passes the header by default.</returns>
    public static string? Authorization(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Apache
            => "CGIPassAuth On to the <Location> of the application (mod_fcgid: FcgidPassHeader Authorization)",
        WebServerKind.HaProxy => "pass-header Authorization to the fcgi-app section",
        _ => null,
    };

    /// <returns><see langword="null"/> if the web server always keeps connections open, or cannot.</returns>
    public static string? KeptConnections(string software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx
            => "fastcgi_keep_conn on; to the location, and keepalive 16; to an upstream that fastcgi_pass names",
        WebServerKind.Apache => "enablereuse=on at the end of the ProxyPass line",
        _ => null,
    };

    public static string ReadTimeout(string? software) => WebServerKinds.Of(software) switch
    {
        WebServerKind.Nginx => "fastcgi_read_timeout 120s;",
        WebServerKind.Apache => "timeout=120 at the end of the ProxyPass line",
        WebServerKind.HaProxy => "timeout server 120s to the backend section",
        WebServerKind.Lighttpd => "\"read-timeout\" => 120 to fastcgi.server",
        _ => "a longer timeout to its configuration",
    };
}
