namespace FastCgi.AspNetCore;

/// <summary>What the web server wants of a request (FastCGI specification, section 6). The values are those of the protocol.</summary>
public enum FastCgiRole
{
    /// <summary>An HTTP request is answered: what every front-end asks for (section 6.2).</summary>
    Responder = 1,

    /// <summary>An HTTP request is allowed or refused, and answered by something else (section 6.3).</summary>
    Authorizer = 2,

    /// <summary>A file that the web server sends along is transformed (section 6.4).</summary>
    Filter = 3,
}
