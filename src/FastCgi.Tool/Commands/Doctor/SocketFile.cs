using System.Diagnostics;
using System.Globalization;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A file or folder as <c>stat</c> shows it.</summary>
internal sealed record SocketFile(string Path, int Mode, int User, int Group, string Owner, string Type)
{
    private const int Execute = 1;
    private const int Write = 2;

    public bool IsSocket => Type == "socket";

    public string Describe() => $"mode {Convert.ToString(Mode, 8).PadLeft(4, '0')}, {Owner}";

    /// <returns><see langword="null"/> if it is not there, or cannot be seen.</returns>
    public static SocketFile? Read(string path) => Run("stat", "-L", "-c", "%a|%u|%g|%U:%G|%F", "--", path) is { } line && line.Split('|') is [var mode, var user, var group, var owner, var type]
        ? new SocketFile(path, Convert.ToInt32(mode, 8), int.Parse(user, CultureInfo.InvariantCulture), int.Parse(group, CultureInfo.InvariantCulture), owner, type)
        : null;

    /// <summary>What keeps a user from the socket, if anything does: the socket itself, or a folder above it.</summary>
    public static SocketFile? FindObstacle(SocketFile socket, IEnumerable<SocketFile> folders, SystemUser user)
    {
        if (user.Id == 0)
            return null;
        return folders.FirstOrDefault(folder => !folder.Allows(user, Execute)) ?? (socket.Allows(user, Write) ? null : socket);
    }

    /// <summary>The folders above a path, the root first.</summary>
    public static List<SocketFile> ReadFolders(string path)
    {
        var folders = new List<SocketFile>();
        for (var folder = System.IO.Path.GetDirectoryName(path); !string.IsNullOrEmpty(folder); folder = System.IO.Path.GetDirectoryName(folder))
        {
            if (Read(folder) is { } file)
                folders.Insert(0, file);
        }

        return folders;
    }

    /// <summary>Runs a command of the system.</summary>
    /// <returns>What it writes; <see langword="null"/> if it fails or is not there.</returns>
    public static string? Run(string command, params string[] arguments)
    {
        try
        {
            using var process = Process.Start(new ProcessStartInfo(command, arguments) { RedirectStandardOutput = true, RedirectStandardError = true, Environment = { ["LC_ALL"] = "C" } })!;
            process.ErrorDataReceived += static (_, _) => { };
            process.BeginErrorReadLine();
            var output = process.StandardOutput.ReadToEnd();
            process.WaitForExit();
            return process.ExitCode == 0 ? output.TrimEnd('\n') : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return null;
        }
    }

    /// <summary>The system asks the first class that fits, and no other.</summary>
    private bool Allows(SystemUser user, int bit)
    {
        var shift = user.Id == User ? 6 : user.Groups.Contains(Group) ? 3 : 0;
        return ((Mode >> shift) & bit) != 0;
    }
}

/// <summary>A user of this machine.</summary>
internal sealed record SystemUser(string Name, int Id, string Group, IReadOnlySet<int> Groups)
{
    private static readonly string[] s_webServers = ["www-data", "nginx", "caddy", "haproxy", "lighttpd", "apache", "http"];

    /// <summary>The users that web servers work as, of those that this machine has.</summary>
    public static IReadOnlyList<SystemUser> FindWebServers() => Find(s_webServers);

    public static IReadOnlyList<SystemUser> Find(IReadOnlyCollection<string> names)
    {
        var groups = ReadFields("/etc/group", 4).Select(static fields => (Name: fields[0], Id: int.Parse(fields[2], CultureInfo.InvariantCulture), Members: fields[3].Split(','))).ToList();
        return
        [
            .. from fields in ReadFields("/etc/passwd", 4)
               where names.Contains(fields[0])
               let main = int.Parse(fields[3], CultureInfo.InvariantCulture)
               select new SystemUser(
                   fields[0],
                   int.Parse(fields[2], CultureInfo.InvariantCulture),
                   groups.FirstOrDefault(each => each.Id == main).Name ?? fields[3],
                   groups.Where(each => each.Members.Contains(fields[0])).Select(static each => each.Id).Append(main).ToHashSet()),
        ];
    }

    private static IEnumerable<string[]> ReadFields(string file, int least)
        => File.Exists(file) ? File.ReadLines(file).Select(static line => line.Split(':')).Where(fields => fields.Length >= least && int.TryParse(fields[2], out _)) : [];
}
