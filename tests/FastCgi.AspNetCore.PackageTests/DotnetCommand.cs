namespace FastCgi.AspNetCore.PackageTests;

/// <summary>The <c>dotnet</c> command as a user runs it, without the settings of the tests.</summary>
internal static class DotnetCommand
{
    // A restore may have to download packs of a hundred megabytes.
    private static readonly TimeSpan s_timeout = TimeSpan.FromMinutes(10);

    /// <summary>Runs it.</summary>
    /// <param name="folder">The current folder.</param>
    /// <param name="arguments">Its arguments.</param>
    /// <returns>The exit code, and what it wrote.</returns>
    public static async Task<(int ExitCode, string Output)> TryRunAsync(string folder, params string[] arguments)
        => await TryRunProgramAsync(folder, "dotnet", arguments);

    /// <summary>Runs another program that runs the command.</summary>
    public static async Task<(int ExitCode, string Output)> TryRunProgramAsync(
        string folder, string program, params string[] arguments)
    {
        var startInfo = new ProcessStartInfo("nice", [program, .. arguments]) { WorkingDirectory = folder };
        foreach (var name in startInfo.Environment.Keys.Where(IsOfTheTests).ToList())
            startInfo.Environment.Remove(name);
        startInfo.Environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
        startInfo.Environment["DOTNET_CLI_UI_LANGUAGE"] = "en";
        startInfo.Environment["DOTNET_NOLOGO"] = "1";
        startInfo.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        // One compiler process for all of them, regardless of the environment. It stops when idle.
        startInfo.Environment["UseSharedCompilation"] = "true";
        // Compressing a template's style sheets and scripts takes ten times as long as the rest of publishing.
        startInfo.Environment["CompressionEnabled"] = "false";
        return await RunAsync(startInfo);
    }

    public static Task<(int ExitCode, string Output)> RunAsync(ProcessStartInfo startInfo)
        => ExternalProgram.RunAsync(startInfo, s_timeout);

    /// <summary>Runs the command. Fails the test if the command fails.</summary>
    /// <returns>The output.</returns>
    public static async Task<string> RunAsync(string folder, params string[] arguments)
    {
        var (exitCode, output) = await TryRunAsync(folder, arguments);
        Assert.True(exitCode == 0, $"dotnet {string.Join(' ', arguments)}\n{output}");
        return output;
    }

    private static bool IsOfTheTests(string name)
        => name is "CI" or "DOTNET_HOST_PATH" or "TESTINGPLATFORM_UI_LANGUAGE"
            || name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase)
            || name.StartsWith("VSTEST", StringComparison.Ordinal);
}
