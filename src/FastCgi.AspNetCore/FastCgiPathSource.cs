namespace FastCgi.AspNetCore;

/// <summary>Specifies the parameter that <c>HttpRequest.Path</c> comes from.</summary>
public enum FastCgiPathSource
{
    /// <summary>REQUEST_URI: the target as the client sent it, decoded once by Kestrel's rules. Rewrites of the web server do not change it.</summary>
    RequestUri,

    /// <summary>
    /// DOCUMENT_URI, which nginx sends: the path after <c>rewrite</c> and <c>index</c>. It is already decoded, so <c>%2F</c> is lost. If it is
    /// absent, as with every other web server, REQUEST_URI is used.
    /// </summary>
    DocumentUri,

    /// <summary>
    /// SCRIPT_NAME and PATH_INFO: the path after an Apache <c>RewriteRule</c>. Both are already decoded, so <c>%2F</c> is lost. Do not use
    /// it with <c>FallbackResource</c>, which sets the same path for all requests.
    /// </summary>
    ScriptNameAndPathInfo,
}
