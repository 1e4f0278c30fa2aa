namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Decides which endpoints this server and Kestrel serve, in development and production alike.</summary>
internal sealed record EndpointPlan(IReadOnlyList<FastCgiListenOptions> FastCgi, IReadOnlyList<string> Http)
{
    public const string UrlsOrigin = "urls";

    private const string Default = "fastcgi://127.0.0.1:9000";

    /// <param name="addresses">From <c>urls</c>, or created from HTTP_PORTS and HTTPS_PORTS.</param>
    public static EndpointPlan Make(
        FastCgiServerOptions options,
        IEnumerable<string> addresses,
        IConfiguration? configuration,
        bool hasHttpEndpoints,
        bool isDevelopment,
        InheritedSockets inherited,
        ILogger log)
    {
        var fastCgi = new List<FastCgiListenOptions>(options.ListenOptions);
        var http = new List<string>();
        foreach (var address in addresses)
        {
            if (EndpointAddress.IsHttp(address))
                http.Add(address);
            else
                fastCgi.AddRange(EndpointAddress.ParseWithOptions(address));
        }

        foreach (var endpoint in fastCgi.Skip(options.ListenOptions.Count))
            endpoint.Origin = UrlsOrigin;

        if (fastCgi.Exists(InheritedSockets.IsNamedBy))
        {
            fastCgi = [.. fastCgi.SelectMany(inherited.Resolve)];
        }
        else
        {
            if (inherited.Refusal is not null)
                log.InheritedSocketsIgnored(inherited.Refusal);
            fastCgi.AddRange(inherited.Endpoints);
        }

        if (fastCgi.Count > 0 && http.Count > 0 && string.IsNullOrEmpty(configuration?[WebHostDefaults.ServerUrlsKey]))
        {
            var dropped = http.Where(address => IsOfPorts(address, configuration)).ToList();
            if (dropped.Count > 0)
                log.PortsDropped(string.Join(", ", dropped));
            http.RemoveAll(dropped.Contains);
        }

        if (fastCgi.Count == 0 && (http.Count > 0 || hasHttpEndpoints))
            log.OnlyHttp(isDevelopment ? LogLevel.Information : LogLevel.Warning);
        else if (fastCgi.Count == 0)
            fastCgi.Add(new FastCgiListenOptions(EndpointAddress.Parse(Default)[0]));

        ThrowIfTwice(fastCgi);
        return new EndpointPlan(fastCgi, http);
    }

    /// <summary>The error of the system would name another process, and a descriptor can be used only once.</summary>
    private static void ThrowIfTwice(IEnumerable<FastCgiListenOptions> endpoints)
    {
        var twice = endpoints.Where(static endpoint => endpoint.EndPoint
                is IPEndPoint { Port: > 0 } or UnixDomainSocketEndPoint or FileHandleEndPoint)
            .GroupBy(static endpoint => endpoint.ToString()).FirstOrDefault(static same => same.Skip(1).Any());
        if (twice is not null)
            throw SocketBinder.Failure(twice.First(), $"{string.Join(" and ", twice.Select(static one => one.Origin))} "
                + "contain the same address. Remove one of them, or choose another port or path");
    }

    private static bool IsOfPorts(string address, IConfiguration? configuration)
    {
        var (scheme, key) = address.StartsWith("https", StringComparison.Ordinal)
            ? ("https", WebHostDefaults.HttpsPortsKey)
            : ("http", WebHostDefaults.HttpPortsKey);
        var ports = configuration?[key]?.Split(';', StringSplitOptions.TrimEntries) ?? [];
        return ports.Any(port => port.Length > 0 && address == $"{scheme}://*:{port}");
    }
}
