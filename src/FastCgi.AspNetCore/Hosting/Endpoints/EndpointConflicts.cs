namespace FastCgi.AspNetCore.Hosting.Endpoints;

/// <summary>Finds endpoints of this application with the same address.</summary>
internal static class EndpointConflicts
{
    public static void ThrowIfAny(IReadOnlyList<FastCgiListenOptions> fastCgi, IReadOnlyList<string> http)
    {
        for (var i = 0; i < fastCgi.Count; i++)
        {
            var endpoint = fastCgi[i];
            if (fastCgi.Take(i).FirstOrDefault(other => AreOne(endpoint.EndPoint, other.EndPoint)) is { } other)
                throw SocketBinder.Failure(endpoint, Explain(endpoint, other.ToString(), other.Origin));
            if (http.FirstOrDefault(address => AreOne(endpoint.EndPoint, address)) is { } taken)
                throw SocketBinder.Failure(endpoint, Explain(endpoint, taken, EndpointPlan.UrlsOrigin));
        }
    }

    private static string Explain(FastCgiListenOptions endpoint, string other, string origin)
        => (endpoint.Origin == origin
            ? $"{origin} contains the address twice, here and as {other}"
            : $"both {endpoint.Origin} and {origin} contain the address, the latter as {other}")
            + ". Remove one of them, or choose another port or path";

    private static bool AreOne(EndPoint left, EndPoint right) => (left, right) switch
    {
        (IPEndPoint a, IPEndPoint b) => a.Port == b.Port && a.Port != 0 && AreOne(a.Address, b.Address),
        (UnixDomainSocketEndPoint a, UnixDomainSocketEndPoint b) => GetPath(a.ToString()) == GetPath(b.ToString()),
        (FileHandleEndPoint a, FileHandleEndPoint b) => a.FileHandle == b.FileHandle,
        _ => left.Equals(right),
    };

    private static bool AreOne(IPAddress left, IPAddress right)
        => left.Equals(right) || left.Equals(IPAddress.IPv6Any) || right.Equals(IPAddress.IPv6Any)
            || (left.AddressFamily == AddressFamily.InterNetwork && right.AddressFamily == AddressFamily.InterNetwork
                && (left.Equals(IPAddress.Any) || right.Equals(IPAddress.Any)));

    private static bool AreOne(EndPoint endPoint, string http)
    {
        BindingAddress address;
        try
        {
            address = BindingAddress.Parse(http);
        }
        catch (FormatException)
        {
            // Kestrel reports the error better.
            return false;
        }

        if (address.IsUnixPipe)
            return endPoint is UnixDomainSocketEndPoint unix
                && GetPath(unix.ToString()) == GetPath(address.UnixPipePath);
        if (endPoint is not IPEndPoint ip || ip.Port != address.Port || ip.Port == 0)
            return false;
        if (address.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
            return AreOne(ip.Address, IPAddress.Loopback) || AreOne(ip.Address, IPAddress.IPv6Loopback);

        // Kestrel binds a host name to all addresses.
        return AreOne(ip.Address, IPAddress.TryParse(address.Host, out var host) ? host : IPAddress.IPv6Any);
    }

    private static string GetPath(string path) => path[0] is '@' or '\0' ? path : Path.GetFullPath(path);
}
