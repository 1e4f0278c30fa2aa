namespace FastCgi.AspNetCore.Testing;

/// <summary>The clone of the repository that the tests were built in, wherever it is.</summary>
public static class Repository
{
    private const string Solution = "FastCgi.AspNetCore.sln";

    /// <summary>Its folder, without a slash at the end.</summary>
    public static string Root { get; } = FindRoot();

    /// <summary>The path of a file or folder in it.</summary>
    public static string GetPath(string path) => Path.Combine(Root, path);

    /// <summary>The configuration that these tests were built with: <c>Debug</c> or <c>Release</c>.</summary>
    public static string Configuration { get; } = GetConfiguration();

    /// <summary>The folder that a project of the same configuration was built into.</summary>
    public static string GetOutput(string project) => GetPath($"{project}/bin/{Configuration}/net10.0");

    private static string GetConfiguration()
        => Directory.GetParent(Path.TrimEndingDirectorySeparator(AppContext.BaseDirectory))!.Name;

    private static string FindRoot()
    {
        var folder = new DirectoryInfo(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, Solution)))
            folder = folder.Parent;
        if (folder is null)
            throw new InvalidOperationException($"No folder above {AppContext.BaseDirectory} has {Solution}.");
        return Path.TrimEndingDirectorySeparator(folder.FullName);
    }
}
