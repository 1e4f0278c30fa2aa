namespace FastCgi.AspNetCore.Transport;

/// <summary>The peers that may connect to an endpoint. The server fully trusts the data of allowed peers.</summary>
internal sealed class PeerPolicy
{
    public static PeerPolicy Everybody { get; } = new();

    /// <summary>Lists of networks from which peers may connect over TCP. An address must be in every list.</summary>
    public IReadOnlyList<IReadOnlyList<IPNetwork>> Addresses { get; init; } = [];
    public IReadOnlyList<uint> Users { get; init; } = [];
    public IReadOnlyList<uint> Groups { get; init; } = [];
    public bool IsRestricted => Addresses.Count > 0 || Users.Count > 0 || Groups.Count > 0;

    /// <summary>Whether the peer of a connection may connect. An unknown peer is refused.</summary>
    public bool Allows(Socket connection)
    {
        if (!IsRestricted)
            return true;
        if (connection.AddressFamily != AddressFamily.Unix)
            return Users.Count == 0 && Groups.Count == 0 && Allows(PeerAddress.Get(connection));

        return Addresses.Count == 0 && PeerCredentials.Get(connection) is { } peer && Allows(peer);
    }

    /// <summary>Whether the peer with an address may connect. IPv4-mapped IPv6 addresses match IPv4 networks.</summary>
    public bool Allows(EndPoint? peer)
        => Addresses.Count == 0
            || (peer is IPEndPoint ip && Addresses.All(list => list.Any(network => network.Contains(ip.Address))));

    public bool Allows(PeerCredentials peer) => Users.Contains(peer.User) || peer.Groups.Any(Groups.Contains);
}
