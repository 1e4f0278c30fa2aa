namespace FastCgi.AspNetCore.Linux;

/// <summary>The credentials of the peer of a Unix socket, from the time when it connected.</summary>
/// <param name="Groups">The group id and the supplementary groups.</param>
/// <param name="Process">The process id, or 0 if the process is outside of this container.</param>
internal sealed record PeerCredentials(uint User, IReadOnlyList<uint> Groups, uint Process = 0)
{
    private const int CredentialsOption = 17;
    private const int GroupsOption = 59;

    private const int MaxGroups = 65_536;

    // Large, so it is used again.
    private static uint[]? s_groups;

    public static PeerCredentials? Get(Socket socket)
    {
        if (!OperatingSystem.IsLinux() || socket.AddressFamily != AddressFamily.Unix)
            return null;

        var groups = Interlocked.Exchange(ref s_groups, null) ?? new uint[MaxGroups];
        try
        {
            // struct ucred: process, user, group.
            Span<uint> credentials = stackalloc uint[3];
            socket.GetRawSocketOption(Libc.SocketLevel, CredentialsOption, MemoryMarshal.AsBytes(credentials));
            var count = GetGroups(socket, groups);
            return new PeerCredentials(credentials[1], [credentials[2], .. groups.AsSpan(0, count)], credentials[0]);
        }
        catch (SocketException)
        {
            return null;
        }
        finally
        {
            Volatile.Write(ref s_groups, groups);
        }
    }

    /// <returns>The number of supplementary groups; 0 if unknown, so that only user and group apply.</returns>
    private static int GetGroups(Socket socket, uint[] groups)
    {
        try
        {
            return socket.GetRawSocketOption(
                Libc.SocketLevel, GroupsOption, MemoryMarshal.AsBytes(groups.AsSpan(0, MaxGroups))) / sizeof(uint);
        }
        catch (SocketException)
        {
            return 0;
        }
    }
}
