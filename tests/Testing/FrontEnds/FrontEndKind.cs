namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>The web servers that the tests know how to start.</summary>
public enum FrontEndKind
{
    /// <summary>nginx with <c>fastcgi_pass</c>.</summary>
    Nginx,

    /// <summary>Apache with <c>mod_proxy_fcgi</c>.</summary>
    Apache,

    /// <summary>lighttpd with <c>mod_fastcgi</c>.</summary>
    Lighttpd,

    /// <summary>HAProxy with <c>fcgi-app</c>.</summary>
    HaProxy,

    /// <summary>Caddy with <c>transport fastcgi</c>.</summary>
    Caddy,

    /// <summary>h2o with <c>fastcgi.connect</c>.</summary>
    H2o,
}
