namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>A host for containers, with images made of this machine's files; see <c>container-host.sh</c>.</summary>
internal static class ContainerHost
{
    private static readonly string[] s_programs = ["podman", "runc", "nginx", "curl", "ip"];

    private static string Script { get; } = Path.Combine(AppContext.BaseDirectory, "container-host.sh");

    /// <summary>Why this machine or user cannot run containers, or null.</summary>
    public static string? FindObstacle()
    {
        if (!Environment.IsPrivilegedProcess)
            return "Containers that share the network of a test need root.";
        // A missing package skips the test, or fails it in tests/run.sh.
        if (!Programs.AreInstalled(s_programs))
            return null;
        using var folder = new ScratchFolder();
        return ExternalProgram.FindObstacle("podman cannot run a container here", "bash", Script, "check", folder.Path);
    }

    /// <summary>
    /// Runs commands in the repository's folder, up to the first that fails, which fails the test.
    /// </summary>
    /// <returns>Their output.</returns>
    public static async Task<string> RunAsync(string commands)
    {
        Programs.Require(s_programs);
        using var folder = new ScratchFolder();
        await using var process = ServerProcess.Start("bash", [Script, "run", folder.Path, Repository.Root, commands]);
        var exitCode = await process.WaitForExitAsync(TimeSpan.FromMinutes(5));
        Assert.True(process.HasExited && exitCode == 0, $"Exit code {exitCode}:\n{process.Output}");
        return process.Output;
    }
}

/// <summary>A test that runs containers. It is skipped where this is not permitted.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class ContainerFactAttribute : FactAttribute
{
    private static readonly Lazy<string?> s_obstacle = new(ContainerHost.FindObstacle);

    public override string? Skip { get; set; } = s_obstacle.Value;
}
