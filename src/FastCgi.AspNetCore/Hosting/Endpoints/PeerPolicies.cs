namespace FastCgi.AspNetCore.Hosting.Endpoints;

internal static class PeerPolicies
{
    /// <summary>The addresses of the web server (FastCGI specification, section 3.2).</summary>
    private const string AddressesVariable = "FCGI_WEB_SERVER_ADDRS";

    public static PeerPolicy Create(FastCgiListenOptions options, EndPoint endPoint)
        => Create(options, endPoint, Environment.GetEnvironmentVariable(AddressesVariable));

    public static PeerPolicy Create(FastCgiListenOptions options, EndPoint endPoint, string? addresses)
    {
        var isUnix = endPoint is UnixDomainSocketEndPoint;
        if (isUnix && options.AllowedAddresses.Count > 0)
            throw SocketBinder.Failure(options, "the peer of a Unix socket has no address. Use AllowedUsers or "
                + "AllowedGroups instead of AllowedAddresses");
        if (!(isUnix && OperatingSystem.IsLinux())
            && (options.AllowedUsers.Count > 0 || options.AllowedGroups.Count > 0))
            throw SocketBinder.Failure(options, "the user and groups of a peer are known only on Linux, and only for "
                + "Unix sockets. Use AllowedAddresses instead of AllowedUsers and AllowedGroups");

        var networks = new List<IReadOnlyList<IPNetwork>>();
        if (options.AllowedAddresses.Count > 0)
            networks.Add([.. options.AllowedAddresses.Select(text => ParseNetwork(text) ?? throw SocketBinder.Failure(
                options,
                $"'{text}' in AllowedAddresses is not an address or network. Use values such as 192.0.2.1 or "
                    + "10.0.0.0/8"))]);
        if (!string.IsNullOrEmpty(addresses))
        {
            // The specification defines only IPv4; IPv6 is accepted too.
            networks.Add([.. addresses.Split(',', StringSplitOptions.TrimEntries).Select(text
                => (text.Contains('/', StringComparison.Ordinal) ? null : ParseNetwork(text))
                    ?? throw SocketBinder.Failure(options, $"{AddressesVariable} is '{addresses}', but '{text}' is not "
                        + "an address. Use a list such as 192.0.2.1,192.0.2.2"))]);
        }

        return new PeerPolicy
        {
            Addresses = networks,
            Users = [.. options.AllowedUsers.Select(name => UnixSockets.FindUser(options, name))],
            Groups = [.. options.AllowedGroups.Select(name => UnixSockets.FindGroup(options, name))],
        };
    }

    public static bool IsOpen(PeerPolicy policy, EndPoint endPoint)
        => endPoint is IPEndPoint { Address: var address } && !IPAddress.IsLoopback(address) && !policy.IsRestricted;

    /// <summary>Parses a network or an address. Rejects ambiguous forms: 1, 0x7f000001, and 010.0.0.1.</summary>
    private static IPNetwork? ParseNetwork(string text)
    {
        var host = text.Split('/')[0];
        if (!IPAddress.TryParse(host, out var address) || RequestAddresses.Parse(host) is null)
            return null;
        if (host.Length == text.Length)
            return new IPNetwork(address, address.AddressFamily == AddressFamily.InterNetworkV6 ? 128 : 32);
        return IPNetwork.TryParse(text, out var network) ? network : null;
    }
}
