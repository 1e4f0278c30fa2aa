using System.Diagnostics;
using System.Globalization;
using FastCgi.AspNetCore.Accounts;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A file or folder as <c>stat</c> shows it.</summary>
internal sealed record SocketFile(string Path, FilePermissions Permissions, string Owner, string Type)
{
    public bool IsSocket => Type == "socket";

    public string Describe() => $"mode {Permissions.ModeText}, {Owner}";

    /// <returns><see langword="null"/> if it is not there, or cannot be seen.</returns>
    public static SocketFile? Read(string path) => Run("stat", "-L", "-c", "%a|%u|%g|%U:%G|%F", "--", path) is { } line
        && line.Split('|') is [var mode, var user, var group, var owner, var type]
        ? new SocketFile(path, new(Number(user), Number(group), (UnixFileMode)Convert.ToInt32(mode, 8)), owner, type)
        : null;

    /// <summary>What keeps a user from the socket, if anything does: a folder above it, or the socket itself.</summary>
    public static SocketFile? FindObstacle(SocketFile socket, IEnumerable<SocketFile> folders, LocalAccount account)
        => folders.FirstOrDefault(folder => !folder.Permissions.AllowsEntering(account.User, account.Groups))
            ?? (socket.Permissions.AllowsWriting(account.User, account.Groups) ? null : socket);

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
            using var process = Process.Start(new ProcessStartInfo(command, arguments)
            {
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                Environment = { ["LC_ALL"] = "C" }
            })!;
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

    private static uint Number(string text) => uint.Parse(text, CultureInfo.InvariantCulture);
}
