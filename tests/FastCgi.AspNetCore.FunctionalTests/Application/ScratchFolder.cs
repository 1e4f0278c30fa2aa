namespace FastCgi.AspNetCore.FunctionalTests.Application;

/// <summary>A folder for the files of one test.</summary>
internal sealed class ScratchFolder : IDisposable
{
    private const UnixFileMode Mode = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    public ScratchFolder()
    {
        // A web server that root starts has processes that run as another user.
        File.SetUnixFileMode(Path, Mode);
    }

    public string Path => _folder.FullName;

    /// <summary>An address for an application in it: of a unix socket, or of a port that the system chooses.</summary>
    public string GetAddress(bool usesUnixSocket) => usesUnixSocket ? $"fastcgi://unix:{Path}/app.sock" : "fastcgi://127.0.0.1:0";

    public void Dispose() => _folder.Delete(recursive: true);
}
