namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A file or folder as <c>stat</c> shows it.</summary>
internal sealed record SocketFile(string Path, FilePermissions Permissions, string Owner, string Type)
{
    public bool IsSocket => Type == "socket";

    /// <summary>Whether only root owns the file and may change it.</summary>
    public bool IsRoots => Permissions is { User: 0, Mode: var mode, Group: var group }
        && (mode & UnixFileMode.OtherWrite) == 0 && (group == 0 || (mode & UnixFileMode.GroupWrite) == 0);

    public string Describe() => $"mode {Permissions.ModeText}, {Owner}";

    /// <returns><see langword="null"/> if the file is absent or not accessible.</returns>
    public static SocketFile? Read(string path)
        => SystemCommand.Read("stat", "-L", "-c", "%a|%u|%g|%U:%G|%F", "--", path).Split('|')
        is [var mode, var user, var group, var owner, var type]
            ? new(path, new(uint.Parse(user), uint.Parse(group), (UnixFileMode)Convert.ToInt32(mode, 8)), owner, type)
            : null;

    /// <summary>The obstacle between a user and the socket, if any: a parent folder, or the socket itself.</summary>
    public static SocketFile? FindObstacle(SocketFile socket, IEnumerable<SocketFile> folders, LocalAccount account)
        => folders.FirstOrDefault(folder => !folder.Permissions.AllowsEntering(account.User, account.Groups))
            ?? (socket.Permissions.AllowsWriting(account.User, account.Groups) ? null : socket);

    /// <summary>The folders above a path, the root first.</summary>
    public static IEnumerable<SocketFile?> ReadFolders(string path)
        => System.IO.Path.GetDirectoryName(path) is { } folder ? ReadFolders(folder).Append(Read(folder)) : [];
}
