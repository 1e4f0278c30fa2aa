using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// Where the server listens, and where Kestrel beside it. One program serves the desk and production: FastCGI endpoints are ours,
/// http addresses are Kestrel's, and http addresses that only stand for a container's port are dropped where there is FastCGI.
/// </summary>
internal sealed class EndpointPlan
{
    /// <summary>Where an endpoint was named that is in the addresses of the host.</summary>
    public const string UrlsOrigin = "urls";

    private static readonly string s_default = "fastcgi://127.0.0.1:9000";

    private EndpointPlan(IReadOnlyList<FastCgiListenOptions> fastCgi, IReadOnlyList<string> http)
    {
        FastCgi = fastCgi;
        Http = http;
    }

    /// <summary>Our endpoints.</summary>
    public IReadOnlyList<FastCgiListenOptions> FastCgi { get; }

    /// <summary>Kestrel's addresses.</summary>
    public IReadOnlyList<string> Http { get; }

    /// <summary>Makes the plan.</summary>
    /// <param name="options">The endpoints that code and configuration have named.</param>
    /// <param name="addresses">What hosting found in <c>urls</c>, or else made of HTTP_PORTS and HTTPS_PORTS.</param>
    /// <param name="configuration">Tells which of the two it was.</param>
    /// <param name="hasHttpEndpoints">Whether Kestrel has endpoints of its own configuration.</param>
    /// <param name="inherited">The sockets that the process was given. They are all ours, unless endpoints name some of them.</param>
    /// <param name="log">Where it is said what was left out.</param>
    /// <exception cref="FormatException">An address is neither ours nor Kestrel's.</exception>
    /// <exception cref="IOException">An inherited socket is named that there is not, or two endpoints have one address.</exception>
    public static EndpointPlan Make(
        FastCgiServerOptions options,
        IEnumerable<string> addresses,
        IConfiguration? configuration,
        bool hasHttpEndpoints,
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
            log.OnlyHttp();
        else if (fastCgi.Count == 0)
            fastCgi.Add(new FastCgiListenOptions(EndpointAddress.Parse(s_default)[0]));

        EndpointConflicts.ThrowIfAny(fastCgi, http);
        return new EndpointPlan(fastCgi, http);
    }

    /// <summary>Whether hosting made an address of a port alone.</summary>
    private static bool IsOfPorts(string address, IConfiguration? configuration)
        => IsOfPorts(address, "http", configuration?[WebHostDefaults.HttpPortsKey]) || IsOfPorts(address, "https", configuration?[WebHostDefaults.HttpsPortsKey]);

    private static bool IsOfPorts(string address, string scheme, string? ports)
        => ports?.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).Any(port => address == $"{scheme}://*:{port}") ?? false;
}
