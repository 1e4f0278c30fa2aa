namespace FastCgi.AspNetCore.Linux;

internal static class PeerAddress
{
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

    /// <summary>Describes the peer process of a Unix socket, which has no address.</summary>
    public static string? DescribeProcess(Socket socket)
        => PeerCredentials.Get(socket) is { } peer
            ? string.Create(CultureInfo.InvariantCulture, $"process {peer.Process} ({GetName(peer.Process)}) of "
                + $"user {peer.User} over a Unix socket")
            : null;

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
