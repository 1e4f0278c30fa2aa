using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Accounts;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// Tells at start who can connect to the file of a unix socket: a web server that cannot says no more than "Permission denied", and this
/// server never learns of it. ACLs are not looked at.
/// </summary>
[SupportedOSPlatform("linux")]
internal static class SocketReach
{
    /// <summary>Writes the line.</summary>
    public static void Report(FastCgiListenOptions options, ListeningSocket socket, ILogger log)
    {
        if (options.EndPoint is UnixDomainSocketEndPoint endPoint && endPoint.ToString() is var path && path[0] != '@')
            Report(Path.GetFullPath(path), socket.Peers, LocalAccounts.OfWebServers, log);
    }

    /// <summary>Writes the line.</summary>
    /// <param name="path">The file.</param>
    /// <param name="peers">Who may connect, of those that can.</param>
    /// <param name="candidates">The users that web servers may run as. Those that this machine does not have are left out.</param>
    /// <param name="log">The log.</param>
    public static void Report(string path, PeerPolicy peers, IReadOnlyList<string> candidates, ILogger log)
    {
        if (SocketFile.GetPermissions(path) is not { } file)
            return;

        var folders = GetFolders(path);
        var who = Describe(file, folders);
        var users = new List<string>();
        var able = new List<string>();
        (string What, string Advice)? obstacle = null;
        foreach (var name in candidates)
        {
            if (LocalAccounts.Find(name) is not { } account)
                continue;

            users.Add(name);
            if (FindObstacle(account, path, file, folders, peers) is { } found)
                obstacle = found;
            else
                able.Add(name);
        }

        if (able.Count > 0)
            log.SocketAccess(path, $"{who}; of the users that web servers run as: {string.Join(", ", able)}");
        else if (users.Count == 0)
            log.SocketAccess(path, who);
        else
            log.SocketOutOfReach(path, who, string.Join(", ", users), obstacle!.Value.What, obstacle.Value.Advice);
    }

    private static List<(string Path, FilePermissions Permissions)> GetFolders(string path)
    {
        var folders = new List<(string, FilePermissions)>();
        for (var folder = Path.GetDirectoryName(path); folder is not null; folder = Path.GetDirectoryName(folder))
        {
            if (SocketFile.GetPermissions(folder) is { } permissions)
                folders.Add((folder, permissions));
        }

        return folders;
    }

    private static string Describe(FilePermissions file, List<(string Path, FilePermissions Permissions)> folders)
    {
        var closed = folders.Where(static folder => !folder.Permissions.Mode.HasFlag(UnixFileMode.OtherExecute))
            .Select(static folder => $"{folder.Path} ({Describe(folder.Permissions)})").ToList();
        var classes = new List<string> { "root" };
        if (file.User != 0)
            classes.Add("the user " + SystemAccounts.GetUserName(file.User));
        if (file.Mode.HasFlag(UnixFileMode.GroupWrite))
            classes.Add("the group " + SystemAccounts.GetGroupName(file.Group));
        var who = file.Mode.HasFlag(UnixFileMode.OtherWrite) ? "everybody" : string.Join(", ", classes);
        return $"{who} ({Describe(file)}){(closed.Count > 0 ? ", of those who may enter " + string.Join(" and ", closed) : "")}";
    }

    private static string Describe(FilePermissions file)
        => $"mode {file.ModeText}, owner {SystemAccounts.GetUserName(file.User)}, group {SystemAccounts.GetGroupName(file.Group)}";

    /// <returns>What keeps a user from connecting, and the setting to add; <see langword="null"/> if nothing does.</returns>
    private static (string What, string Advice)? FindObstacle(
        LocalAccount account, string path, FilePermissions file, List<(string Path, FilePermissions Permissions)> folders, PeerPolicy peers)
    {
        var (name, user, group, groups) = account;
        foreach (var (folder, permissions) in folders)
        {
            if (!permissions.AllowsEntering(user, groups))
                return ($"{name} may not enter the folder {folder}", $"Run 'chmod o+x {folder}', or add RuntimeDirectoryMode=0755 to the unit if it is the RuntimeDirectory= of systemd.");
        }

        if (!file.AllowsWriting(user, groups))
        {
            var membership = Environment.IsPrivilegedProcess
                ? ""
                : $" The user {Environment.UserName} has to be a member of the group: add SupplementaryGroups={group} to the unit of systemd, or run 'usermod -aG {group} {Environment.UserName}'.";
            return ($"{name} may not write to it", $"For {name}, add ?mode=0660&group={group} to the address: fastcgi://unix:{path}?mode=0660&group={group}{membership}");
        }

        if (peers.IsRestricted && !peers.Allows(new PeerCredentials(user, groups)))
            return ($"{name} is not among AllowedUsers and AllowedGroups of the endpoint", $"Add {name} to AllowedUsers.");

        return null;
    }
}
