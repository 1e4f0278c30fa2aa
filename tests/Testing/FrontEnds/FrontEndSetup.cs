using System.Text;

namespace FastCgi.AspNetCore.Testing.FrontEnds;

/// <summary>A web server and how it is configured to reach the application.</summary>
public sealed record FrontEndSetup : IXunitSerializable
{
    /// <summary>
    /// The setups of every case: each web server over TCP and Unix sockets, with connections to the application used
    /// once, kept and multiplexed as far as it can, and with TLS, and HTTP/2 with it.
    /// </summary>
    public static IReadOnlyList<FrontEndSetup> All { get; } =
    [
        new() { Kind = FrontEndKind.Nginx },
        new() { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
        new() { Kind = FrontEndKind.Nginx, KeepsConnections = true },
        new() { Kind = FrontEndKind.Nginx, UsesUnixSocket = true, KeepsConnections = true },
        new() { Kind = FrontEndKind.Nginx, UsesUnixSocket = true, KeepsConnections = true, UsesTls = true },
        new() { Kind = FrontEndKind.Apache },
        new() { Kind = FrontEndKind.Apache, UsesUnixSocket = true },
        new() { Kind = FrontEndKind.Apache, KeepsConnections = true },
        new() { Kind = FrontEndKind.Apache, UsesUnixSocket = true, KeepsConnections = true },
        new() { Kind = FrontEndKind.Apache, UsesUnixSocket = true, KeepsConnections = true, UsesTls = true },
        new() { Kind = FrontEndKind.Lighttpd },
        new() { Kind = FrontEndKind.Lighttpd, UsesUnixSocket = true },
        new() { Kind = FrontEndKind.Lighttpd, UsesUnixSocket = true, UsesTls = true },
        new() { Kind = FrontEndKind.HaProxy },
        new() { Kind = FrontEndKind.HaProxy, UsesUnixSocket = true, KeepsConnections = true },
        new() { Kind = FrontEndKind.HaProxy, KeepsConnections = true, Multiplexes = true },
        new()
        {
            Kind = FrontEndKind.HaProxy,
            UsesUnixSocket = true,
            KeepsConnections = true,
            Multiplexes = true,
            AsksForValues = true,
        },
        new() { Kind = FrontEndKind.HaProxy, UsesUnixSocket = true, KeepsConnections = true, UsesTls = true },
        new() { Kind = FrontEndKind.Caddy },
        new() { Kind = FrontEndKind.Caddy, UsesUnixSocket = true },
        new() { Kind = FrontEndKind.Caddy, UsesUnixSocket = true, UsesTls = true },
    ];

    private static readonly PropertyInfo[] s_choices =
        [.. typeof(FrontEndSetup).GetProperties().Where(static property => property.PropertyType == typeof(bool))];

    public FrontEndKind Kind { get; set; }

    /// <summary>Whether the application listens on a unix socket instead of a TCP port.</summary>
    public bool UsesUnixSocket { get; set; }

    /// <summary>Whether connections to the application are kept for the next request.</summary>
    public bool KeepsConnections { get; set; }

    /// <summary>Whether a connection to the application carries several requests at a time.</summary>
    public bool Multiplexes { get; set; }

    /// <summary>Whether a connection begins with a query for the application's limits, FCGI_GET_VALUES.</summary>
    public bool AsksForValues { get; set; }

    /// <summary>Whether clients use TLS and HTTP/2, instead of HTTP/1.1.</summary>
    public bool UsesTls { get; set; }

    /// <summary>
    /// Whether the configuration is that of the web server's document: the smallest, or with TLS the full one.
    /// </summary>
    public bool IsDocumented { get; set; }

    /// <summary>Whether to use the documented configuration for a load balancer.</summary>
    public bool IsBehindBalancer { get; set; }

    /// <summary>Whether uploads are buffered until they are complete, if the web server has a setting for it.</summary>
    public bool BuffersRequests { get; set; } = true;

    /// <summary>Whether output may be buffered, if the web server has a setting for it.</summary>
    public bool BuffersResponses { get; set; } = true;

    public void Serialize(IXunitSerializationInfo info)
    {
        info.AddValue(nameof(Kind), Kind);
        foreach (var choice in s_choices)
            info.AddValue(choice.Name, choice.GetValue(this));
    }

    public void Deserialize(IXunitSerializationInfo info)
    {
        Kind = info.GetValue<FrontEndKind>(nameof(Kind));
        foreach (var choice in s_choices)
            choice.SetValue(this, info.GetValue<bool>(choice.Name));
    }

    /// <summary>The name in a test report.</summary>
    public override string ToString()
    {
        var name = new StringBuilder(Kind.ToString().ToLowerInvariant());
        name.Append(UsesUnixSocket ? " unix" : " tcp");
        if (KeepsConnections)
            name.Append(" keep-conn");
        if (Multiplexes)
            name.Append(" mpxs-conns");
        if (AsksForValues)
            name.Append(" get-values");
        if (UsesTls)
            name.Append(" tls");
        if (IsBehindBalancer)
            name.Append(" balancer");
        if (!BuffersRequests)
            name.Append(" request-streaming");
        if (!BuffersResponses)
            name.Append(" response-streaming");
        return name.ToString();
    }
}
