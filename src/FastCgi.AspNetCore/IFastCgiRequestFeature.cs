namespace FastCgi.AspNetCore;

/// <summary>Provides the FastCGI properties of a request, which HTTP does not have.</summary>
public interface IFastCgiRequestFeature
{
    /// <summary>Gets the role: what the web server asks the application to do.</summary>
    FastCgiRole Role { get; }

    /// <summary>
    /// Gets all parameters in the order in which they arrived, including repeated ones. Parameters that begin with
    /// <c>HTTP_</c> are headers of the client; all others are set by the web server.
    /// </summary>
    /// <remarks>Created on first access. Excludes application values. <c>GetServerVariable</c> is cheaper.</remarks>
    /// <exception cref="ObjectDisposedException">The request has ended.</exception>
    IReadOnlyList<KeyValuePair<string, string>> Parameters { get; }

    /// <summary>Gets a writer to the web server's error log. Escapes control characters, which forge lines.</summary>
    /// <remarks>
    /// A line is sent when it is complete or on <see cref="TextWriter.Flush"/>, but not before the response headers:
    /// nginx could not read them otherwise. Output beyond <see cref="FastCgiServerLimits.MaxStandardErrorSize"/>, or
    /// after the end of the response, is dropped. Caddy does not log it.
    /// </remarks>
    TextWriter StandardError { get; }
}
