using System.Text.Json;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>The package's additions to a build.</summary>
public sealed class PackageTargetsTests
{
    private const string Spinning = "System.Threading.ThreadPool.UnfairSemaphoreSpinLimit";

    /// <summary>An application may reference the source, and a newer SDK has more warnings.</summary>
    [Fact]
    public async Task Warnings_OfTheReferencedSource_AreNoErrors()
        => Assert.NotEqual(
            "true",
            (await DotnetCommand.RunAsync(
                Repository.Root, "msbuild", "src/FastCgi.AspNetCore", "-getProperty:TreatWarningsAsErrors")).Trim());

    /// <summary>The application's own setting takes precedence, in each of three forms.</summary>
    [Theory]
    [InlineData("", "{}", "0")]
    [InlineData(
        "<PropertyGroup><FastCgiThreadPoolSpinning>true</FastCgiThreadPoolSpinning></PropertyGroup>", "{}", null)]
    [InlineData(
        $"""<ItemGroup><RuntimeHostConfigurationOption Include="{Spinning}" Value="20" /></ItemGroup>""", "{}", "20")]
    [InlineData("", $$"""{ "configProperties": { "{{Spinning}}": 30 } }""", null)]
    public async Task SpinLimit_SetByTheApplication_Stays(string project, string runtimeTemplate, string? expected)
    {
        using var folder = new ScratchFolder();
        var targets = Repository.GetPath("src/FastCgi.AspNetCore/FastCgi.AspNetCore.targets");
        await File.WriteAllTextAsync(
            Path.Combine(folder.Path, "site.csproj"),
            $"""<Project Sdk="Microsoft.NET.Sdk.Web">{project}<Import Project="{targets}" /></Project>""");
        await File.WriteAllTextAsync(Path.Combine(folder.Path, "runtimeconfig.template.json"), runtimeTemplate);

        var output = await DotnetCommand.RunAsync(
            folder.Path, "msbuild", "-getItem:RuntimeHostConfigurationOption", "-p:TargetFramework=net10.0");

        using var items = JsonDocument.Parse(output);
        var options = items.RootElement.GetProperty("Items")
            .GetProperty("RuntimeHostConfigurationOption")
            .EnumerateArray();
        var values = options.Where(static option => option.GetProperty("Identity").GetString() == Spinning)
            .Select(static option => option.GetProperty("Value").GetString());
        Assert.Equal(expected, values.SingleOrDefault());
    }
}
