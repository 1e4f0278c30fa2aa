namespace FastCgi.AspNetCore.Linux;

/// <summary>Finds private folders of this service (PrivateTmp= of systemd), which web servers cannot see.</summary>
internal static class PrivateFolder
{
    public const string OwnMounts = "/proc/self/mountinfo";

    private const int RootColumn = 3;
    private const int MountPointColumn = 4;

    /// <returns>The private folder that contains a path; <see langword="null"/> if there is none.</returns>
    public static string? Find(string path, string mounts)
        => SystemFile.Read(mounts)?.Split('\n').Select(static line => line.Split(' '))
            .Where(static mount => mount.Length > MountPointColumn
                && mount[RootColumn].Contains("/systemd-private-", StringComparison.Ordinal))
            .Select(static mount => mount[MountPointColumn])
            .FirstOrDefault(folder => path.StartsWith(folder + "/", StringComparison.Ordinal));
}
