namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// An application that references the source, because the package is not published yet, builds with its user's SDK and
/// settings. <see cref="ReadmeTests"/> builds one with the repository's settings, without warnings.
/// </summary>
public sealed class SourceReferenceTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private string Clone => Path.Combine(_folder.Path, "FastCgi.AspNetCore");

    public void Dispose() => _folder.Dispose();

    /// <summary>
    /// A newer SDK has more warnings, and a copy may lack the file that has the settings of the analyzers.
    /// </summary>
    [Fact]
    public async Task SourceReference_AWarningOfANewerSdk_NoError()
    {
        await CreateAsync();
        await File.WriteAllTextAsync(Path.Combine(Clone, "src/FastCgi.AspNetCore/Newer.cs"), "#warning This is new.\n");

        // The analyzers have run when the repository was built.
        Assert.Contains(
            "warning CS1030: #warning: 'This is new.'",
            await BuildAsync("-p:RunAnalyzers=false"),
            StringComparison.Ordinal);
    }

    private async Task CreateAsync()
    {
        Copy("src");
        foreach (var file in Directory.GetFiles(Repository.Root)
            .Where(static file => Path.GetExtension(file) is ".props" or ".json" or ".md"))
            File.Copy(file, Path.Combine(Clone, Path.GetFileName(file)));

        var app = Path.Combine(_folder.Path, "hello");
        await DotnetCommand.RunAsync(_folder.Path, "new", "web", "--output", app, "--no-restore");
        await DotnetCommand.RunAsync(app, "add", "reference", "../FastCgi.AspNetCore/src/FastCgi.AspNetCore");
        var program = Path.Combine(app, "Program.cs");
        await File.WriteAllTextAsync(
            program,
            (await File.ReadAllTextAsync(program))
                .Replace("var app", "builder.WebHost.UseFastCgi();\nvar app", StringComparison.Ordinal));
    }

    private async Task<string> BuildAsync(params string[] arguments)
        => await DotnetCommand.RunAsync(
            Path.Combine(_folder.Path, "hello"), ["build", "-p:NuGetAudit=false", .. arguments]);

    private void Copy(string folder)
    {
        Directory.CreateDirectory(Path.Combine(Clone, folder));
        foreach (var file in Directory.GetFiles(Path.Combine(Repository.Root, folder)))
            File.Copy(file, Path.Combine(Clone, folder, Path.GetFileName(file)));
        foreach (var name in Directory.GetDirectories(Path.Combine(Repository.Root, folder)).Select(static path => Path.GetFileName(path)).Where(static name => name is not ("bin" or "obj")))
            Copy(Path.Combine(folder, name));
    }
}
