using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Who may connect to an endpoint: whoever can is believed in all that a web server says of the client.</summary>
internal sealed class PeerPolicy
{
    /// <summary>Lets everybody connect.</summary>
    public static PeerPolicy Everybody { get; } = new();

    /// <summary>Lists of the networks from which web servers may connect over TCP. An address must be in each list; without a list, any may.</summary>
    public IReadOnlyList<IReadOnlyList<IPNetwork>> Addresses { get; init; } = [];

    /// <summary>The users who may connect to a unix socket.</summary>
    public IReadOnlyList<uint> Users { get; init; } = [];

    /// <summary>The groups whose members may connect to a unix socket.</summary>
    public IReadOnlyList<uint> Groups { get; init; } = [];

    /// <summary>Whether it keeps anybody out.</summary>
    public bool IsRestricted => Addresses.Count > 0 || Users.Count > 0 || Groups.Count > 0;

    /// <summary>Whether the peer of a connection may connect. What cannot be told is refused.</summary>
    public bool Allows(Socket connection)
    {
        if (!IsRestricted)
            return true;
        if (connection.AddressFamily != AddressFamily.Unix)
            return Users.Count == 0 && Groups.Count == 0 && Allows(GetRemoteEndPoint(connection));

        return Addresses.Count == 0 && OperatingSystem.IsLinux() && PeerCredentials.Get(connection) is { } peer && Allows(peer);
    }

    /// <summary>Whether the peer with an address may connect.</summary>
    public bool Allows(EndPoint? peer) => Addresses.Count == 0 || (peer is IPEndPoint ip && Addresses.All(list => Contains(list, ip.Address)));

    /// <summary>Whether a process may connect.</summary>
    public bool Allows(PeerCredentials peer) => Users.Contains(peer.User) || peer.Groups.Any(Groups.Contains);

    private static bool Contains(IReadOnlyList<IPNetwork> networks, IPAddress address)
    {
        // A socket for both versions shows an IPv4 address as one of IPv6.
        var plain = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        return networks.Any(network => network.Contains(plain));
    }

    private static EndPoint? GetRemoteEndPoint(Socket connection)
    {
        try
        {
            return connection.RemoteEndPoint;
        }
        catch (SocketException)
        {
            return null;
        }
    }
}
