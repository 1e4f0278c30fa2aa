// Each builds with several processes.
[assembly: CollectionBehavior(MaxParallelThreads = 2)]

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>The output of <c>dotnet new</c>, with the package from a folder, published with default settings.</summary>
public sealed class TemplateTests
{
    [Theory]
    [InlineData("/weatherforecast", "temperatureC", "webapi", "--no-openapi")]
    [InlineData("/Privacy", "Privacy Policy", "razor")]
    [InlineData("/", "Hello World!", "web", "--language", "F#")]
    public async Task Template_Published_ServesAndRunsTheCompiledAssembly(
        string page, string text, params string[] template)
    {
        await using var application = await Application.CreateAsync(usesFeedAlone: true, template);
        var output = await application.PublishAsync();
        await application.StartAsync();

        Assert.Contains(text, await application.GetAsync(page));
        Assert.DoesNotContain("warning", output);
        var expected = RuntimeInformation.RuntimeIdentifier.EndsWith("-x64", StringComparison.Ordinal)
            ? "runtimes/linux-x64/lib/net10.0/FastCgi.AspNetCore.dll"
            : "FastCgi.AspNetCore.dll";
        Assert.Equal(expected, application.FindLoadedAssembly("FastCgi.AspNetCore"));
        Assert.Equal(
            "0", await application.ReadRuntimeOptionAsync("System.Threading.ThreadPool.UnfairSemaphoreSpinLimit"));
    }
}
