namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>The ways the application is served.</summary>
public enum SiteKind
{
    /// <summary>Kestrel, which clients reach directly: what the application should see.</summary>
    Kestrel,

    /// <summary>Kestrel behind nginx with <c>proxy_pass</c>: the expected responses of nginx.</summary>
    KestrelBehindNginx,

    FastCgiBehindNginx,

    FastCgiBehindApache,
}
