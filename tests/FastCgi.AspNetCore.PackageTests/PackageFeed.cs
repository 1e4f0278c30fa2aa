using System.Globalization;
using System.IO.Compression;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>A folder with the packages of a release, created once for all tests and deleted afterwards.</summary>
internal sealed class PackageFeed : IDisposable
{
    private static readonly Lazy<Task<PackageFeed>> s_instance = new(CreateAsync);

    private readonly ScratchFolder _folder = new();

    private PackageFeed() => AppDomain.CurrentDomain.ProcessExit += (_, _) => Dispose();

    /// <summary>The feed of this run.</summary>
    public static Task<PackageFeed> Instance => s_instance.Value;

    /// <summary>A version that is not in the user's shared package folder.</summary>
    public static string Version { get; } = string.Create(
        CultureInfo.InvariantCulture, $"0.1.0-test.{Environment.ProcessId}");

    /// <summary>Where the packages are.</summary>
    public string Path => System.IO.Path.Combine(_folder.Path, "feed");

    /// <summary>The path of a folder next to them, which is also deleted.</summary>
    public string GetFolder(string name) => System.IO.Path.Combine(_folder.Path, name);

    /// <summary>Opens the package, or the symbol package.</summary>
    public ZipArchive Open(string extension = "nupkg")
        => ZipFile.OpenRead(System.IO.Path.Combine(Path, $"FastCgi.AspNetCore.{Version}.{extension}"));

    /// <summary>A text in the package.</summary>
    public string ReadText(string name)
    {
        using var package = Open();
        using var reader = new StreamReader(package.GetEntry(name)!.Open());
        return reader.ReadToEnd();
    }

    public void Dispose()
    {
        if (!Directory.Exists(_folder.Path))
            return;

        _folder.Dispose();
        var packages = Environment.GetEnvironmentVariable("NUGET_PACKAGES")
            ?? System.IO.Path.Combine(
                Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages");
        var restored = Directory.GetDirectories(packages, "fastcgi.*")
            .Select(static folder => System.IO.Path.Combine(folder, Version));
        foreach (var folder in restored.Where(Directory.Exists))
            Directory.Delete(folder, recursive: true);
    }

    private static async Task<PackageFeed> CreateAsync()
    {
        Programs.Require("unzip");
        var feed = new PackageFeed();
        // The analyzers would take two thirds of the time, and have checked the same source in the build of these
        // tests.
        var (exitCode, output) = await DotnetCommand.TryRunProgramAsync(
            Repository.Root, "build/release.sh", Version, feed.Path, "-p:RunAnalyzers=false");
        Assert.True(exitCode == 0, output);
        return feed;
    }
}
