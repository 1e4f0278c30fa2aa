namespace FastCgi.AspNetCore.Accounts;

internal sealed record FilePermissions(uint User, uint Group, UnixFileMode Mode)
{
    /// <summary>Whether a user may write, which is required to connect to a Unix socket.</summary>
    public bool AllowsWriting(uint user, IReadOnlyList<uint> groups) => Allows(user, groups, UnixFileMode.OtherWrite);

    public bool AllowsEntering(uint user, IReadOnlyList<uint> groups)
        => Allows(user, groups, UnixFileMode.OtherExecute);

    public string ModeText => Convert.ToString((int)Mode, 8).PadLeft(4, '0');

    /// <summary>Follows the kernel: root may do everything; otherwise, the first matching class applies.</summary>
    private bool Allows(uint user, IReadOnlyList<uint> groups, UnixFileMode others)
    {
        if (user == 0)
            return true;
        if (user == User)
            return (Mode & (UnixFileMode)((int)others << 6)) != 0;

        return (Mode & (groups.Contains(Group) ? (UnixFileMode)((int)others << 3) : others)) != 0;
    }
}
