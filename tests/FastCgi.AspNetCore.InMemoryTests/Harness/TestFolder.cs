namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A folder for the files of one test.</summary>
internal sealed class TestFolder : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("fastcgi-");

    public string Path => _folder.FullName;

    /// <summary>Writes a file and gives back its path.</summary>
    public string Write(string name, byte[] content)
    {
        var path = GetPath(name);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, content);
        return path;
    }

    public string GetPath(string name) => System.IO.Path.Combine(Path, name);

    public void Dispose() => _folder.Delete(recursive: true);
}
