namespace FastCgi.AspNetCore.Testing;

/// <summary>A folder for the files of one test.</summary>
public sealed class ScratchFolder : IDisposable
{
    private const UnixFileMode Mode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    public ScratchFolder()
    {
        // A web server that root starts has processes that run as another user.
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(Path, Mode);
    }

    public string Path => _folder.FullName;

    public string GetPath(string name) => System.IO.Path.Combine(Path, name);

    /// <summary>Writes a file and gives back its path.</summary>
    public string Write(string name, byte[] content)
    {
        var path = GetPath(name);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, content);
        return path;
    }

    /// <summary>An address for an application in it: of a unix socket, or of a port that the system chooses.</summary>
    public string GetAddress(bool usesUnixSocket) => usesUnixSocket ? $"fastcgi://unix:{Path}/app.sock" : "fastcgi://127.0.0.1:0";

    public void Dispose() => _folder.Delete(recursive: true);
}
