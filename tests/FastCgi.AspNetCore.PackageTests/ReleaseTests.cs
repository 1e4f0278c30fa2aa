using System.Security.Cryptography;
using System.Xml.Linq;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// The output of <c>build/release.sh</c>, which has compared the files in the packages with
/// <c>build/PackageFiles.txt</c>.
/// </summary>
public sealed class ReleaseTests
{
    [Fact]
    public async Task Sums_EachPackage_IsItsSha256()
    {
        var feed = await PackageFeed.Instance;

        var packages = Directory.GetFiles(feed.Path, "*.*nupkg").Order(StringComparer.Ordinal).ToList();
        Assert.NotEmpty(packages);
        var sums = packages.Select(
            static file =>
                $"{Convert.ToHexStringLower(SHA256.HashData(File.ReadAllBytes(file)))}  {Path.GetFileName(file)}");
        Assert.Equal(
            sums.Order(StringComparer.Ordinal),
            (await File.ReadAllLinesAsync(Path.Combine(feed.Path, "SHA256SUMS"))).Order(StringComparer.Ordinal));
    }

    /// <summary>Every package names its authors and purpose; only the tool contains or needs another package.</summary>
    [Fact]
    public async Task Nuspecs_AreComplete()
    {
        var packages = Directory.GetFiles((await PackageFeed.Instance).Path, "*.nupkg");

        Assert.True(packages.Length >= 3);
        foreach (var package in packages)
        {
            await using var archive = await System.IO.Compression.ZipFile.OpenReadAsync(package);
            await using var nuspec = await archive.Entries.Single(
                static entry => entry.FullName.EndsWith(".nuspec", StringComparison.Ordinal)).OpenAsync();
            var metadata = XDocument.Load(nuspec).Root!.Elements().Single();
            var values = metadata.Elements().ToDictionary(static element => element.Name.LocalName);
            Assert.All(
                ["license", "readme", "projectUrl", "description", "copyright", "tags"],
                name => Assert.False(
                    string.IsNullOrEmpty(values.GetValueOrDefault(name)?.Value),
                    $"{Path.GetFileName(package)}: {name}"));
            var notes = values.GetValueOrDefault("releaseNotes")?.Value;
            var isServer = Path.GetFileName(package) == $"FastCgi.AspNetCore.{PackageFeed.Version}.nupkg";
            Assert.Equal(isServer, notes?.Length > 0);
            Assert.DoesNotContain("](docs/", notes ?? "");
            Assert.Equal(values["projectUrl"].Value, values["repository"].Attribute("url")?.Value);
            Assert.DoesNotContain(metadata.Descendants(), static element => element.Name.LocalName == "dependency");
        }
    }

    [Fact]
    public async Task Client_RestoredOnlyFromTheFeed_Builds()
    {
        using var folder = new ScratchFolder();
        await UseFeedAloneAsync(folder.Path);
        await DotnetCommand.RunAsync(
            folder.Path, "new", "console", "--name", "Caller", "--output", folder.Path, "--no-restore");
        await DotnetCommand.RunAsync(
            folder.Path, "add", "package", "FastCgi.Client", "--version", PackageFeed.Version, "--no-restore");
        await File.WriteAllTextAsync(
            Path.Combine(folder.Path, "Program.cs"),
            """
            using FastCgi.Client;

            using var client = new HttpClient(new FastCgiHttpHandler("127.0.0.1:9000"));
            """);

        Assert.DoesNotContain("warning", await DotnetCommand.RunAsync(folder.Path, "build", "-p:NuGetAudit=false"));
    }

    [Fact]
    public async Task Tool_InstalledOnlyFromTheFeed_PrintsItsVersion()
    {
        using var folder = new ScratchFolder();
        await UseFeedAloneAsync(folder.Path);
        await DotnetCommand.RunAsync(
            folder.Path, "tool", "install", "FastCgi.Tool", "--version", PackageFeed.Version, "--tool-path", "tools");

        var (exitCode, output) = await DotnetCommand.TryRunProgramAsync(
            folder.Path, Path.Combine(folder.Path, "tools", "fastcgi"), "--version");

        Assert.Equal(0, exitCode);
        Assert.StartsWith(PackageFeed.Version, output);
    }

    private static async Task UseFeedAloneAsync(string folder)
    {
        var feed = await PackageFeed.Instance;
        await File.WriteAllTextAsync(
            Path.Combine(folder, "nuget.config"),
            $"""
            <configuration><packageSources>
            <clear /><add key="feed" value="{feed.Path}" />
            </packageSources></configuration>
            """);
    }
}
