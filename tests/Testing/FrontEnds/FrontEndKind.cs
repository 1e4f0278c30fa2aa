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

    HaProxy,

    /// <summary>Caddy with <c>transport fastcgi</c>.</summary>
    Caddy,
}
