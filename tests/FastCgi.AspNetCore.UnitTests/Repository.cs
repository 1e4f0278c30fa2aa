namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The folder that the tests were built from.</summary>
internal static class Repository
{
    private const string Solution = "FastCgi.AspNetCore.sln";

    private static readonly string s_root = FindRoot();

    public static string GetPath(string path) => Path.Combine(s_root, path);

    private static string FindRoot()
    {
        var folder = new DirectoryInfo(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, Solution)))
            folder = folder.Parent;
        return folder?.FullName ?? throw new InvalidOperationException($"{Solution} is in none of the folders above {AppContext.BaseDirectory}.");
    }
}
