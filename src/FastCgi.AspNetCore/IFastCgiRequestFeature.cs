namespace FastCgi.AspNetCore;

/// <summary>
/// Provides the FastCGI properties of a request that HTTP does not have. All FastCGI requests have this feature.
/// </summary>
public interface IFastCgiRequestFeature
{
    /// <summary>Gets the role: what the web server asks the application to do.</summary>
    FastCgiRole Role { get; }

    /// <summary>
    /// Gets all parameters in the order in which they arrived, including repeated ones. Parameters that begin with
    /// <c>HTTP_</c> are headers of the client; all others are set by the web server.
    /// </summary>
    /// <remarks>
    /// Created on first access. For a single parameter, <c>HttpContext.GetServerVariable</c> is cheaper. Does not
    /// reflect variables set by the application.
    /// </remarks>
    IReadOnlyList<KeyValuePair<string, string>> Parameters { get; }

    /// <summary>
    /// Gets a writer to the error log of the web server. Control characters are escaped, so that log lines cannot be
    /// forged.
    /// </summary>
    /// <remarks>
    /// A line is sent when it is complete or on <see cref="TextWriter.Flush"/>, but not before the response headers:
    /// nginx could not read them otherwise. Output beyond <see cref="FastCgiServerLimits.MaxStandardErrorSize"/>, or
    /// after the end of the response, is dropped. Caddy logs it with <c>capture_stderr</c>.
    /// </remarks>
    TextWriter StandardError { get; }
}
