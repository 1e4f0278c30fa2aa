namespace FastCgi.AspNetCore.Linux;

internal static class PeerAddress
{
    public const string Unknown = "an unknown peer";

    public static EndPoint? Get(Socket socket)
    {
        try
        {
            return socket.RemoteEndPoint;
        }
        catch (SocketException)
        {
            return null;
        }
    }

    public static string Describe(EndPoint? peer)
    {
        if (peer is IPEndPoint { Address.IsIPv4MappedToIPv6: true } mapped)
            peer = new IPEndPoint(mapped.Address.MapToIPv4(), mapped.Port);
        return peer?.ToString() is { Length: > 0 } address ? address : Unknown;
    }

    /// <summary>Describes the process at the other end of a Unix socket, which has no address.</summary>
    public static string Describe(Socket socket)
        => PeerCredentials.Get(socket) is { } peer
            ? string.Create(CultureInfo.InvariantCulture, $"process {peer.Process} ({GetName(peer.Process)}) of the "
                + $"user {SystemAccounts.GetUserName(peer.User)} and the group "
                + $"{SystemAccounts.GetGroupName(peer.Groups[0])} over a Unix socket")
            : Describe(Get(socket));

    /// <summary>Escapes the name of a process, because the process chooses it.</summary>
    private static string GetName(uint process)
    {
        var path = string.Create(CultureInfo.InvariantCulture, $"/proc/{process}/comm");
        if (SystemFile.Read(path)?.TrimEnd('\n') is { } name)
            return string.Concat(name.Select(static c => c is >= ' ' and <= '~' ? c : '?'));

        // Processes of other users may be hidden, as with ProtectProc=invisible of systemd.
        return File.Exists(path) ? "whose name could not be read" : "which has ended or is hidden";
    }
}
