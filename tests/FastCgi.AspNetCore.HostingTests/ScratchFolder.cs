namespace FastCgi.AspNetCore.HostingTests;

/// <summary>A folder for the files and sockets of one test.</summary>
internal sealed class ScratchFolder : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    public string Path => _folder.FullName;

    public string GetPath(string name) => System.IO.Path.Combine(Path, name);

    public void Dispose() => _folder.Delete(recursive: true);
}
