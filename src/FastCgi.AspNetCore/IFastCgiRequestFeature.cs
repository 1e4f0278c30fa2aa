namespace FastCgi.AspNetCore;

/// <summary>What FastCGI says of a request, and HTTP cannot. A feature of every request that came over FastCGI.</summary>
public interface IFastCgiRequestFeature
{
    /// <summary>What the web server wants of the request.</summary>
    FastCgiRole Role { get; }

    /// <summary>
    /// All parameters in the order in which they came, repeated ones repeated. Those that begin with <c>HTTP_</c> are the client's
    /// headers; all others are the web server's word.
    /// </summary>
    /// <remarks>
    /// Made when first asked for. For a single parameter <c>HttpContext.GetServerVariable</c> costs less. What is set there does not
    /// show here.
    /// </remarks>
    /// <exception cref="ObjectDisposedException">The request is over.</exception>
    IReadOnlyList<KeyValuePair<string, string>> Parameters { get; }

    /// <summary>
    /// Writes to the error log of the web server, a line at a time. Control characters are escaped, so that nobody can forge lines.
    /// </summary>
    /// <remarks>
    /// A line is sent when it is complete, or by <see cref="TextWriter.Flush"/>, but not before the header block of the response:
    /// nginx could not read that then. What exceeds <see cref="FastCgiServerLimits.MaxStandardErrorSize"/>, or comes when the response has
    /// ended, is dropped. Caddy logs none of it.
    /// </remarks>
    TextWriter StandardError { get; }
}
