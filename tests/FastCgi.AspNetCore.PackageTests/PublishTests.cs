namespace FastCgi.AspNetCore.PackageTests;

/// <summary>Each way to publish, with all warnings of trimming and of compiling ahead.</summary>
public sealed class PublishTests
{
    private static readonly string s_runtime = "linux-" + RuntimeInformation.OSArchitecture.ToString()
        .ToLowerInvariant();

    /// <summary>A single file without the runtime, compiled ahead as ReadyToRun.</summary>
    [Fact]
    public async Task ReadyToRunSingleFile_Starts()
    {
        await using var application = await Application.CreateAsync(usesFeedAlone: false, "web");

        await AssertServesAsync(
            application,
            "--self-contained",
            "false",
            "-p:PublishReadyToRun=true",
            "-p:PublishSingleFile=true",
            "-p:EnableSingleFileAnalyzer=true");
    }

    /// <summary>
    /// The whole library is kept and checked, not only what the application calls. Native AOT also trims, so the
    /// warnings of both appear. Optimization and symbols would take half of the time and reveal nothing more.
    /// </summary>
    [NativeAotFact]
    public async Task NativeAot_WholeLibrary_StartsWithoutAWarning()
    {
        await using var application = await Application.CreateAsync(usesFeedAlone: false, "web");
        await application.AddToProjectAsync(
            """<ItemGroup><TrimmerRootAssembly Include="FastCgi.AspNetCore" /></ItemGroup>""");

        await AssertServesAsync(
            application,
            "-p:PublishAot=true",
            "-p:Optimize=false",
            "-p:NativeDebugSymbols=false",
            "-p:TrimmerSingleWarn=false");
    }

    /// <summary>A single file with the runtime, trimmed to what the application calls, without Native AOT.</summary>
    [Fact]
    public async Task TrimmedSingleFile_Starts()
    {
        await using var application = await Application.CreateAsync(usesFeedAlone: false, "web");

        await AssertServesAsync(
            application,
            "--self-contained",
            "true",
            "-p:PublishTrimmed=true",
            "-p:PublishSingleFile=true",
            "-p:TrimmerSingleWarn=false");
    }

    private static async Task AssertServesAsync(Application application, params string[] arguments)
    {
        var output = await application.PublishAsync(["-r", s_runtime, .. arguments]);
        await application.StartAsync();

        Assert.Equal("Hello World!", await application.GetAsync("/"));
        Assert.DoesNotContain("warning", output, StringComparison.Ordinal);
    }
}
