namespace FastCgi.AspNetCore.Accounts;

/// <summary>The owner of a file or a folder, and what its mode allows.</summary>
internal sealed record FilePermissions(uint User, uint Group, UnixFileMode Mode)
{
    /// <summary>Whether somebody may write to a file, which is to connect to a socket.</summary>
    public bool AllowsWriting(uint user, IReadOnlyList<uint> groups) => Allows(user, groups, UnixFileMode.OtherWrite);

    /// <summary>Whether somebody may enter a folder.</summary>
    public bool AllowsEntering(uint user, IReadOnlyList<uint> groups) => Allows(user, groups, UnixFileMode.OtherExecute);

    /// <summary>The mode as <c>chmod</c> takes it.</summary>
    public string ModeText => Convert.ToString((int)Mode, 8).PadLeft(4, '0');

    /// <summary>As the system decides: root may all, and the first class that somebody is in counts.</summary>
    private bool Allows(uint user, IReadOnlyList<uint> groups, UnixFileMode others)
    {
        if (user == 0)
            return true;
        if (user == User)
            return (Mode & (UnixFileMode)((int)others << 6)) != 0;

        return (Mode & (groups.Contains(Group) ? (UnixFileMode)((int)others << 3) : others)) != 0;
    }
}
