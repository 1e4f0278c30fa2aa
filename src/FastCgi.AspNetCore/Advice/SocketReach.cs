using FastCgi.AspNetCore.Accounts;

namespace FastCgi.AspNetCore.Advice;

/// <summary>Reports who can connect to a Unix socket: web servers do not explain it. Ignores ACLs.</summary>
[SupportedOSPlatform("linux")]
internal static class SocketReach
{
    // Debian, Arch, and openSUSE have these users even without a web server.
    private static readonly string[] s_usersOfDistributions = ["www-data", "http", "wwwrun"];

    private static readonly string[] s_programs = ["nginx", "apache2", "httpd", "lighttpd", "haproxy", "caddy"];

    public static void Report(FastCgiListenOptions options, ListeningSocket socket, ILogger log)
    {
        if (options.EndPoint is UnixDomainSocketEndPoint endPoint && endPoint.ToString() is var path && path[0] != '@')
            Report(Path.GetFullPath(path), socket.Peers, LocalAccounts.OfWebServers, log);
    }

    /// <param name="candidates">The users that web servers may run as; those that do not exist are skipped.</param>
    public static void Report(
        string path, PeerPolicy peers, IReadOnlyList<string> candidates, ILogger log,
        string mounts = SystemFile.OwnMounts, Func<string, bool>? exists = null)
    {
        if (SocketFile.GetPermissions(path) is not { } file)
            return;

        var folders = GetFolders(path);
        var who = Describe(file, folders);
        var hidden = SystemFile.FindPrivateFolder(path, mounts);
        var users = new List<string>();
        var able = new List<string>();
        (string What, string Advice)? obstacle = null;
        foreach (var name in candidates)
        {
            if (LocalAccounts.Find(name) is not { } account)
                continue;

            users.Add(name);
            if (FindObstacle(account, path, file, folders, hidden, peers) is { } found)
                obstacle = found;
            else
                able.Add(name);
        }

        if (able.Count > 0)
            log.SocketAccess(path, $"{who}, including the web-server users {string.Join(", ", able)}");
        else if (!HasWebServer(users, exists ?? Path.Exists))
            log.SocketAccess(path, who);
        else
            log.SocketOutOfReach(path, who, string.Join(", ", users), obstacle!.Value.What, obstacle.Value.Advice);
    }

    /// <summary>Whether a web server is installed here: it may run in another container.</summary>
    private static bool HasWebServer(List<string> users, Func<string, bool> exists)
        => users.Except(s_usersOfDistributions).Any()
            || (users.Count > 0 && s_programs.Any(program => WebServerBlock.IsInstalled(program, exists)));

    private static List<(string Path, FilePermissions Permissions)> GetFolders(string path)
    {
        var folders = new List<(string, FilePermissions)>();
        while ((path = Path.GetDirectoryName(path)!) is not null)
        {
            if (SocketFile.GetPermissions(path) is { } permissions)
                folders.Add((path, permissions));
        }

        return folders;
    }

    private static string Describe(FilePermissions file, List<(string Path, FilePermissions Permissions)> folders)
    {
        var closed = folders.Where(static folder => !folder.Permissions.Mode.HasFlag(UnixFileMode.OtherExecute))
            .Select(static folder => $"{folder.Path} ({Describe(folder.Permissions)})").ToList();
        var classes = new List<string> { "root" };
        if (file.User != 0)
            classes.Add("user " + SystemAccounts.GetUserName(file.User));
        if (file.Mode.HasFlag(UnixFileMode.GroupWrite))
            classes.Add("group " + SystemAccounts.GetGroupName(file.Group));
        var who = file.Mode.HasFlag(UnixFileMode.OtherWrite) ? "everyone" : string.Join(", ", classes);
        var condition = closed.Count > 0 ? ", provided that they may enter " + string.Join(" and ", closed) : "";
        return $"{who} ({Describe(file)}){condition}";
    }

    private static string Describe(FilePermissions file)
        => $"mode {file.ModeText}, owner {SystemAccounts.GetUserName(file.User)}, group "
            + $"{SystemAccounts.GetGroupName(file.Group)}";

    private static (string What, string Advice)? FindObstacle(
        LocalAccount account, string path, FilePermissions file,
        List<(string Path, FilePermissions Permissions)> folders,
        string? hidden, PeerPolicy peers)
    {
        if (hidden is not null)
            return ($"systemd has given this service a {hidden} of its own (PrivateTmp=)",
                "Use a socket such as /run/app/app.sock, and add RuntimeDirectory=app to the systemd unit.");

        var (name, user, group, groups) = account;
        foreach (var (folder, permissions) in folders)
        {
            if (!permissions.AllowsEntering(user, groups))
                return ($"{name} cannot enter the folder {folder}", $"Run chmod o+x {Quote(folder)}, or set "
                    + "RuntimeDirectoryMode=0755 in the systemd unit if the folder is its RuntimeDirectory=.");
        }

        if (!file.AllowsWriting(user, groups))
        {
            var membership = Environment.IsPrivilegedProcess
                ? ""
                : $" The user {SystemAccounts.ProcessUser} must be a member of the group {group} ({groups[0]}): "
                    + $"{SystemAccounts.MembershipAdvice}.";
            return ($"{name} cannot write to it", $"To allow {name}, add mode and group to the address: "
                + $"{Quote($"fastcgi://unix:{path}?mode=0660&group={group}")}.{membership}");
        }

        if (peers.IsRestricted && !peers.Allows(new PeerCredentials(user, groups)))
            return ($"{name} is not in the endpoint's AllowedUsers or AllowedGroups", $"Add {name} to AllowedUsers.");

        return null;
    }

    private static string Quote(string text) => $"'{text.Replace("'", "'\\''", StringComparison.Ordinal)}'";
}
