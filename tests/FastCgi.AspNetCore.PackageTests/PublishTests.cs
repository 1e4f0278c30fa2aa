namespace FastCgi.AspNetCore.PackageTests;

/// <summary>Each way to publish, with all warnings of trimming and of compiling ahead.</summary>
public sealed class PublishTests
{
    private static readonly string s_runtime = "linux-" + RuntimeInformation.OSArchitecture.ToString()
        .ToLowerInvariant();

    /// <summary>
    /// Without the runtime, compiled ahead as ReadyToRun; with the runtime, trimmed to what the application calls.
    /// </summary>
    [Theory]
    [InlineData("--self-contained false -p:PublishReadyToRun=true -p:EnableSingleFileAnalyzer=true")]
    [InlineData("--self-contained true -p:PublishTrimmed=true -p:TrimmerSingleWarn=false")]
    public async Task SingleFile_Starts(string arguments)
    {
        await using var application = await Application.CreateAsync(usesFeedAlone: false, "web");

        await AssertServesAsync(application, ["-p:PublishSingleFile=true", .. arguments.Split(' ')]);
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

    private static async Task AssertServesAsync(Application application, params string[] arguments)
    {
        var output = await application.PublishAsync(["-r", s_runtime, .. arguments]);
        await application.StartAsync();

        Assert.Equal("Hello World!", await application.GetAsync("/"));
        Assert.DoesNotContain("warning", output);
    }
}
