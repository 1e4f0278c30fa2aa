namespace FastCgi.AspNetCore;

/// <summary>Specifies the parameter that <c>HttpRequest.Path</c> comes from.</summary>
public enum FastCgiPathSource
{
    /// <summary>
    /// REQUEST_URI: the target as the client sent it, decoded once by Kestrel's rules. Rewrites of the web server do
    /// not change it.
    /// </summary>
    RequestUri,

    /// <summary>
    /// DOCUMENT_URI, which nginx sends: the path after rewrites, internal redirects, and subrequests. It is already
    /// decoded, so <c>%2F</c> is lost. If it is absent or empty, as with every other web server, REQUEST_URI is used.
    /// </summary>
    DocumentUri,

    /// <summary>
    /// SCRIPT_NAME and PATH_INFO: the path after rewrites and internal redirects of Apache, lighttpd, and Caddy.
    /// Both are already decoded, so <c>%2F</c> is lost. Do not use it with <c>FallbackResource</c>, which sets the same
    /// path for all requests.
    /// </summary>
    ScriptNameAndPathInfo,
}
