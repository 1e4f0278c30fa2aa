namespace SideBySide.Driver;

/// <summary>The request that is sent to an HTTP server repeatedly.</summary>
/// <param name="EndPoint">The server, or nginx in front of it.</param>
/// <param name="Path">The page.</param>
internal sealed record HttpLoad(System.Net.EndPoint EndPoint, string Path)
{
    /// <summary>Bytes to post; 0 for GET.</summary>
    public int BodySize { get; init; }

    /// <summary>The kind of body: json, form (one file), or bytes if empty.</summary>
    public string BodyKind { get; init; } = "";

    /// <summary>The number of headers in addition to the browser's, as with fcgiload --headers.</summary>
    public int Headers { get; init; }

    /// <summary>Whether to use ab, which sends HTTP/1.0 with keep-alive, instead of wrk.</summary>
    public bool UsesAb { get; init; }

    /// <summary>Requests per second; 0 for as many as possible.</summary>
    public int Rate { get; init; }
}
