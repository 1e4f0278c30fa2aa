namespace SideBySide.Driver;

/// <summary>What an HTTP server is asked for, over and over.</summary>
/// <param name="EndPoint">The server, or nginx before it.</param>
/// <param name="Path">The page.</param>
internal sealed record HttpLoad(System.Net.EndPoint EndPoint, string Path)
{
    /// <summary>Bytes to post; 0 for GET.</summary>
    public int BodySize { get; init; }

    /// <summary>What is posted: json, form (one file), or bytes if it is empty.</summary>
    public string BodyKind { get; init; } = "";

    /// <summary>Headers beyond those of the browser, as fcgiload --headers makes them.</summary>
    public int Headers { get; init; }

    /// <summary>Requests a second; 0 for as many as are answered.</summary>
    public int Rate { get; init; }
}
