namespace FastCgi.AspNetCore.Linux;

/// <summary>The credentials of the peer of a Unix socket, from the time when it connected.</summary>
/// <param name="Groups">The group id and the supplementary groups.</param>
/// <param name="Process">The process id, or 0 if the process is outside of this container.</param>
internal sealed record PeerCredentials(uint User, IReadOnlyList<uint> Groups, uint Process = 0)
{
    private const int CredentialsOption = 17;
    private const int GroupsOption = 59;

    // Linux permits 65,536. Few users have more than the first number.
    private static readonly int[] s_maxGroups = [64, 65_536];

    public static PeerCredentials? Get(Socket socket)
    {
        if (!OperatingSystem.IsLinux() || socket.AddressFamily != AddressFamily.Unix)
            return null;

        try
        {
            // struct ucred: process, user, group.
            Span<uint> credentials = stackalloc uint[3];
            socket.GetRawSocketOption(Libc.SocketLevel, CredentialsOption, MemoryMarshal.AsBytes(credentials));
            return new PeerCredentials(credentials[1], [credentials[2], .. GetGroups(socket)], credentials[0]);
        }
        catch (SocketException)
        {
            return null;
        }
    }

    /// <returns>The supplementary groups; none if they are unknown, so that only user and group apply.</returns>
    private static Span<uint> GetGroups(Socket socket)
    {
        foreach (var max in s_maxGroups)
        {
            try
            {
                var groups = new uint[max];
                var length = socket.GetRawSocketOption(
                    Libc.SocketLevel, GroupsOption, MemoryMarshal.AsBytes(groups.AsSpan()));
                return groups.AsSpan(0, length / sizeof(uint));
            }
            catch (SocketException)
            {
                // The array is too short, or the system does not know the option.
            }
        }

        return [];
    }
}
