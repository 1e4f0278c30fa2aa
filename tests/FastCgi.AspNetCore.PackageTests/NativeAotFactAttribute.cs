namespace FastCgi.AspNetCore.PackageTests;

/// <summary>A fact that needs the packs of Native AOT, which not every feed has.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class NativeAotFactAttribute : FactAttribute
{
    private static readonly Lazy<string?> s_obstacle = new(
        static () => Task.Run(FindObstacleAsync).GetAwaiter().GetResult());

    public override string? Skip { get; set; } = s_obstacle.Value;

    private static async Task<string?> FindObstacleAsync()
    {
        using var folder = new ScratchFolder();
        await File.WriteAllTextAsync(
            Path.Combine(folder.Path, "probe.csproj"),
            """
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup><TargetFramework>net10.0</TargetFramework><PublishAot>true</PublishAot></PropertyGroup>
            </Project>
            """);
        var (exitCode, output) = await DotnetCommand.TryRunAsync(
            folder.Path, "restore", "-r", "linux-x64", "-p:NuGetAudit=false");
        var error = output.Split('\n')
            .Select(static line => line.Split("error "))
            .FirstOrDefault(static parts => parts.Length > 1)?[1]
            .Trim();
        return exitCode == 0 ? null : "The packs of Native AOT do not restore: " + (error ?? output);
    }
}
