using System.IO.Compression;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using System.Xml.Linq;

namespace FastCgi.AspNetCore.PackageTests;

public sealed partial class PackageContentTests
{
    private const string Library = "lib/net10.0/FastCgi.AspNetCore.dll";
    private const string Compiled = "runtimes/linux-x64/lib/net10.0/FastCgi.AspNetCore.dll";

    [Fact]
    public async Task Readme_Links_HoldOutsideTheRepository()
    {
        var text = (await PackageFeed.Instance).ReadText("README.md");
        var nuspec = (await PackageFeed.Instance).ReadText("FastCgi.AspNetCore.nuspec");
        var files = $"{RepositoryUrl().Match(nuspec).Groups[1].Value}/blob/v{PackageFeed.Version}/";

        var links = Link().Matches(text).Select(static match => match.Groups[1].Value).ToList();
        Assert.NotEmpty(links);
        Assert.DoesNotContain("<!--", text);
        Assert.All(links, link => Assert.StartsWith("https://", link));
        Assert.All(
            links.Where(link => link.StartsWith(files, StringComparison.Ordinal)),
            link => Assert.True(Path.Exists(Path.Combine(Repository.Root, link[files.Length..].Split('#')[0])), link));
    }

    [Fact]
    public async Task Documentation_IsOfThePublicTypes()
    {
        var members = XDocument.Parse((await PackageFeed.Instance).ReadText("lib/net10.0/FastCgi.AspNetCore.xml"))
            .Descendants("member")
            .Select(static member => member.Attribute("name")!.Value)
            .ToList();
        var types = typeof(FastCgiServerOptions).Assembly.GetExportedTypes()
            .Select(static type => type.FullName!.Replace('+', '.'))
            .ToList();

        Assert.Equal(
            types.Order(StringComparer.Ordinal),
            members.Where(static name => name.StartsWith("T:", StringComparison.Ordinal))
                .Select(static name => name[2..])
                .Order(StringComparer.Ordinal));
        Assert.All(
            members, name => Assert.Contains(types, type => name[2..].StartsWith(type, StringComparison.Ordinal)));
        Assert.Contains("P:FastCgi.AspNetCore.FastCgiServerLimits.MaxRequestBodySize", members);
        Assert.Contains(
            "M:Microsoft.AspNetCore.Hosting.WebHostBuilderFastCgiExtensions.UseFastCgi("
                + "Microsoft.AspNetCore.Hosting.IWebHostBuilder)",
            members);
        Assert.DoesNotContain("P:FastCgi.AspNetCore.FastCgiListenOptions.Origin", members);
    }

    /// <summary>Ensures that the symbols match the assembly.</summary>
    [Fact]
    public async Task CompiledAssembly_IsThePortableOneWithCode()
    {
        using var package = (await PackageFeed.Instance).Open();
        var (library, compiled) = (await ReadAsync(Library), await ReadAsync(Compiled));

        Assert.Equal(library.Id, compiled.Id);
        Assert.Equal((false, true), (library.HasCode, compiled.HasCode));

        async Task<(Guid Id, bool HasCode)> ReadAsync(string name)
        {
            using var copy = new MemoryStream();
            await using (var stream = package.GetEntry(name)!.Open())
                await stream.CopyToAsync(copy);
            copy.Position = 0;
            using var image = new PEReader(copy);
            var metadata = image.GetMetadataReader();
            return (
                metadata.GetGuid(metadata.GetModuleDefinition().Mvid),
                image.PEHeaders.CorHeader!.ManagedNativeHeaderDirectory.Size > 0);
        }
    }

    [Fact]
    public async Task CompiledRuntimes_None_PackageIsPortable()
    {
        using var folder = new ScratchFolder();
        await DotnetCommand.RunAsync(
            Repository.Root, "pack", "src/FastCgi.AspNetCore", "-c", "Release", "-o", folder.Path,
            "-p:Version=" + PackageFeed.Version, "-p:CompiledRuntimes=none",
            "--artifacts-path", folder.Path + "/artifacts", "-p:RunAnalyzers=false");

        using var package = ZipFile.OpenRead($"{folder.Path}/FastCgi.AspNetCore.{PackageFeed.Version}.nupkg");
        Assert.Equal(
            [Library],
            package.Entries.Select(static entry => entry.FullName)
                .Where(static name => name.EndsWith(".dll", StringComparison.Ordinal)));
    }

    [GeneratedRegex(@"\]\(([^)\s]+)\)")]
    private static partial Regex Link();

    [GeneratedRegex("<projectUrl>(.*)</projectUrl>")]
    private static partial Regex RepositoryUrl();
}
