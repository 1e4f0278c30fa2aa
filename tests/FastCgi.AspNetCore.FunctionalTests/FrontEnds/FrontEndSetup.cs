using System.Text;

namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>A web server and how it is configured to reach the application.</summary>
public sealed record FrontEndSetup : IXunitSerializable
{
    public FrontEndKind Kind { get; set; }

    /// <summary>Whether the application listens on a unix socket instead of a TCP port.</summary>
    public bool UsesUnixSocket { get; set; }

    /// <summary>Whether connections to the application are kept for the next request.</summary>
    public bool KeepsConnections { get; set; }

    /// <summary>Whether uploads are held until they are complete. Apache never does.</summary>
    public bool BuffersRequests { get; set; }

    /// <summary>Whether what the application sends may be held until there is more of it.</summary>
    public bool BuffersResponses { get; set; }

    /// <summary>
    /// Whether the client sees the Content-Length of the application. Apache drops it since 2.4.59, for it does not trust what works
    /// like CGI (CVE-2024-24795).
    /// </summary>
    public bool KeepsContentLength => Kind != FrontEndKind.Apache;

    /// <inheritdoc/>
    public void Serialize(IXunitSerializationInfo info)
    {
        info.AddValue(nameof(Kind), Kind);
        info.AddValue(nameof(UsesUnixSocket), UsesUnixSocket);
        info.AddValue(nameof(KeepsConnections), KeepsConnections);
        info.AddValue(nameof(BuffersRequests), BuffersRequests);
        info.AddValue(nameof(BuffersResponses), BuffersResponses);
    }

    /// <inheritdoc/>
    public void Deserialize(IXunitSerializationInfo info)
    {
        Kind = info.GetValue<FrontEndKind>(nameof(Kind));
        UsesUnixSocket = info.GetValue<bool>(nameof(UsesUnixSocket));
        KeepsConnections = info.GetValue<bool>(nameof(KeepsConnections));
        BuffersRequests = info.GetValue<bool>(nameof(BuffersRequests));
        BuffersResponses = info.GetValue<bool>(nameof(BuffersResponses));
    }

    /// <summary>The name in a test report.</summary>
    public override string ToString()
    {
        var name = new StringBuilder(Kind.ToString().ToLowerInvariant());
        name.Append(UsesUnixSocket ? " unix" : " tcp");
        if (KeepsConnections)
            name.Append(" keep-conn");
        if (Kind == FrontEndKind.Nginx && !BuffersRequests)
            name.Append(" request-buffering-off");
        if (!BuffersResponses)
            name.Append(" response-buffering-off");
        return name.ToString();
    }
}
