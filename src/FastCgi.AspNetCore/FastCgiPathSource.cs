namespace FastCgi.AspNetCore;

/// <summary>Where <c>HttpRequest.Path</c> comes from.</summary>
public enum FastCgiPathSource
{
    /// <summary>
    /// REQUEST_URI: the target as the client sent it, decoded once by Kestrel's rules. It does not follow rewrites that the web
    /// server made. The default.
    /// </summary>
    RequestUri,

    /// <summary>
    /// DOCUMENT_URI, which nginx sends: the path after <c>rewrite</c> and <c>index</c>. It is decoded, so <c>%2F</c> is lost.
    /// Where it is absent, as with every other front-end, REQUEST_URI is used.
    /// </summary>
    DocumentUri,

    /// <summary>
    /// SCRIPT_NAME and PATH_INFO: the path after a <c>RewriteRule</c> of Apache. Both are decoded, so <c>%2F</c> is lost. Not for
    /// <c>FallbackResource</c>, behind which it is the same for all requests.
    /// </summary>
    ScriptNameAndPathInfo,
}
