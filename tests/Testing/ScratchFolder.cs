namespace FastCgi.AspNetCore.Testing;

/// <summary>A folder for the files of one test.</summary>
public sealed class ScratchFolder : IDisposable
{
    private const UnixFileMode Mode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    // Of the 107 bytes that the path of a Unix socket may have, this leaves enough for what is in the folder.
    private const int MaxParentLength = 40;

    public ScratchFolder()
    {
        if (OperatingSystem.IsWindows())
        {
            Directory.CreateDirectory(Path);
            return;
        }

        Directory.CreateDirectory(Path, Mode);
        // Regardless of the umask: the worker processes of a web server started by root run as another user.
        File.SetUnixFileMode(Path, Mode);
    }

    /// <summary>A short path without spaces, which the configurations of some web servers cannot quote.</summary>
    public string Path { get; } =
        System.IO.Path.Combine(GetParent(), "fastcgi-" + System.IO.Path.GetRandomFileName()[..8]);

    public string GetPath(string name) => System.IO.Path.Combine(Path, name);

    /// <summary>Writes a file and gives back its path.</summary>
    public string Write(string name, byte[] content)
    {
        var path = GetPath(name);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, content);
        return path;
    }

    /// <summary>
    /// An address for an application in it: of a port that the system chooses, or of a Unix socket, open to everyone,
    /// because web servers may run as another user.
    /// </summary>
    public string GetAddress(bool usesUnixSocket)
        => usesUnixSocket ? $"fastcgi://unix:{Path}/app.sock?mode=0666" : "fastcgi://127.0.0.1:0";
    public void Dispose() => Directory.Delete(Path, recursive: true);

    private static string GetParent()
    {
        var parent = System.IO.Path.GetTempPath();
        var isShort = parent.Length <= MaxParentLength && !parent.Contains(' ');
        return isShort || OperatingSystem.IsWindows() ? parent : "/tmp";
    }
}
