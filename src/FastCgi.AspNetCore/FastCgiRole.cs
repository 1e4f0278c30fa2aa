namespace FastCgi.AspNetCore;

/// <summary>
/// Specifies what the web server asks the application to do (FastCGI specification, section 6). The values are those of
/// the protocol.
/// </summary>
public enum FastCgiRole
{
    /// <summary>Handle an HTTP request. Every web server uses this role (section 6.2).</summary>
    Responder = 1,

    /// <summary>Allow or refuse an HTTP request that another server handles (section 6.3).</summary>
    Authorizer = 2,
}
