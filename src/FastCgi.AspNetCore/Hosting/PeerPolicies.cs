using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Reads who may connect to an endpoint from its options and from what the web server that started this process says.</summary>
internal static class PeerPolicies
{
    /// <summary>The variable of the FastCGI specification, section 3.2: the addresses of the web server.</summary>
    private const string AddressesVariable = "FCGI_WEB_SERVER_ADDRS";

    /// <summary>Makes the policy of an endpoint.</summary>
    /// <param name="options">The endpoint.</param>
    /// <param name="endPoint">What it is bound to.</param>
    /// <exception cref="IOException">See the other.</exception>
    public static PeerPolicy Create(FastCgiListenOptions options, EndPoint endPoint)
        => Create(options, endPoint, Environment.GetEnvironmentVariable(AddressesVariable));

    /// <summary>Makes the policy of an endpoint.</summary>
    /// <param name="options">The endpoint.</param>
    /// <param name="endPoint">What it is bound to.</param>
    /// <param name="addresses">The value of FCGI_WEB_SERVER_ADDRS.</param>
    /// <exception cref="IOException">Something is not understood, is not there, or cannot be told of the peers of such an endpoint.</exception>
    public static PeerPolicy Create(FastCgiListenOptions options, EndPoint endPoint, string? addresses)
    {
        var isUnix = endPoint is UnixDomainSocketEndPoint;
        if (isUnix && options.AllowedAddresses.Count > 0)
            throw SocketBinder.Failure(options, "the peer of a unix socket has no address. Use AllowedUsers or AllowedGroups in place of AllowedAddresses");
        if (!(isUnix && OperatingSystem.IsLinux()) && (options.AllowedUsers.Count > 0 || options.AllowedGroups.Count > 0))
            throw SocketBinder.Failure(options, "only Linux tells the user and the groups of a peer, and only of a unix socket. Use AllowedAddresses in place of AllowedUsers and AllowedGroups");

        var networks = new List<IReadOnlyList<IPNetwork>>();
        if (options.AllowedAddresses.Count > 0)
            networks.Add([.. options.AllowedAddresses.Select(text => ParseNetwork(text) ?? throw SocketBinder.Failure(options, $"'{text}' of AllowedAddresses is neither an address nor a network, such as 192.0.2.1 or 10.0.0.0/8"))]);
        if (!string.IsNullOrEmpty(addresses))
            networks.Add(ParseAddresses(options, addresses));

        return new PeerPolicy
        {
            Addresses = networks,
            Users = [.. options.AllowedUsers.Select(name => UnixSockets.Find(options, name, SystemAccounts.FindUser, "user"))],
            Groups = [.. options.AllowedGroups.Select(name => UnixSockets.Find(options, name, SystemAccounts.FindGroup, "group"))],
        };
    }

    /// <summary>Whether anybody on the network can connect.</summary>
    public static bool IsOpen(PeerPolicy policy, EndPoint endPoint)
        => endPoint is IPEndPoint { Address: var address } && !IPAddress.IsLoopback(address) && !policy.IsRestricted;

    private static List<IPNetwork> ParseAddresses(FastCgiListenOptions options, string addresses)
    {
        var networks = new List<IPNetwork>();
        foreach (var text in addresses.Split(',', StringSplitOptions.TrimEntries))
        {
            // The specification has IPv4 alone; nothing speaks against IPv6.
            if (text.Contains('/', StringComparison.Ordinal) || ParseNetwork(text) is not { } network)
                throw SocketBinder.Failure(options, $"{AddressesVariable} is '{addresses}', and '{text}' is no address. It is a list such as 192.0.2.1,192.0.2.2");
            networks.Add(network);
        }

        return networks;
    }

    /// <summary>A network, or an address, which is a network of one.</summary>
    private static IPNetwork? ParseNetwork(string text)
    {
        if (IPNetwork.TryParse(text, out var network))
            return network;

        // The parser takes numbers such as 1 and 0x7f000001, which nobody means.
        return IPAddress.TryParse(text, out var address) && (address.AddressFamily == AddressFamily.InterNetworkV6 || text.Count(static c => c == '.') == 3)
            ? new IPNetwork(address, address.AddressFamily == AddressFamily.InterNetworkV6 ? 128 : 32)
            : null;
    }
}
