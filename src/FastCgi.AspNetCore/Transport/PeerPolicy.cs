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

    /// <summary>Whether the peer with an address may connect. A network of IPv4 contains its addresses as a socket for both versions shows them, too.</summary>
    public bool Allows(EndPoint? peer) => Addresses.Count == 0 || (peer is IPEndPoint ip && Addresses.All(list => list.Any(network => network.Contains(ip.Address))));

    /// <summary>Whether a process may connect.</summary>
    public bool Allows(PeerCredentials peer) => Users.Contains(peer.User) || peer.Groups.Any(Groups.Contains);

    /// <summary>The peer of a connection, for the log.</summary>
    public static string Describe(Socket connection)
    {
        if (connection.AddressFamily != AddressFamily.Unix)
            return Describe(GetRemoteEndPoint(connection));

        return OperatingSystem.IsLinux() && PeerCredentials.Get(connection) is { } peer
            ? $"a process of the user {SystemAccounts.GetUserName(peer.User)} and the group {SystemAccounts.GetGroupName(peer.Groups[0])}"
            : "an unknown process";
    }

    /// <inheritdoc cref="Describe(Socket)"/>
    public static string Describe(EndPoint? peer)
        => peer is IPEndPoint ip ? (ip.Address.IsIPv4MappedToIPv6 ? ip.Address.MapToIPv4() : ip.Address).ToString() : peer?.ToString() ?? "an unknown address";

    /// <summary>The setting that keeps a peer out, for the log.</summary>
    public string GetSetting(bool isUnix) => isUnix
        ? Addresses.Count > 0 ? "the variable FCGI_WEB_SERVER_ADDRS, which lets no process connect to a unix socket," : "AllowedUsers or AllowedGroups of the endpoint"
        : "AllowedAddresses of the endpoint, or the variable FCGI_WEB_SERVER_ADDRS,";

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
