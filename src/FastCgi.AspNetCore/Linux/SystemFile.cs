namespace FastCgi.AspNetCore.Linux;

internal static class SystemFile
{
    public const string OwnMounts = "/proc/self/mountinfo";

    private const int RootColumn = 3;
    private const int MountPointColumn = 4;

    /// <returns>The text of a file; <see langword="null"/> if it cannot be read.</returns>
    public static string? Read(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Finds private folders of this service (PrivateTmp= of systemd): web servers cannot see them.</summary>
    /// <returns>The private folder that contains a path; <see langword="null"/> if there is none.</returns>
    public static string? FindPrivateFolder(string path, string mounts)
        => Read(mounts)?.Split('\n').Select(static line => line.Split(' '))
            .Where(static mount => mount.Length > MountPointColumn
                && mount[RootColumn].Contains("/systemd-private-", StringComparison.Ordinal))
            .Select(static mount => mount[MountPointColumn])
            .FirstOrDefault(folder => path.StartsWith(folder + "/", StringComparison.Ordinal));
}
