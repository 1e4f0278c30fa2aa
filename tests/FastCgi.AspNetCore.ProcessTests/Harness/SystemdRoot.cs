namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>systemd as process 1, with the files of this machine; see <c>systemd-root.sh</c>.</summary>
internal sealed class SystemdRoot : IAsyncDisposable
{
    private readonly ScratchFolder _folder;
    private readonly ServerProcess _process;

    private SystemdRoot(ScratchFolder folder, ServerProcess process)
    {
        _folder = folder;
        _process = process;
    }

    private static string Script { get; } = Path.Combine(AppContext.BaseDirectory, "systemd-root.sh");

    /// <summary>Why this machine or user cannot run it, or null.</summary>
    public static string? FindObstacle()
    {
        if (!Environment.IsPrivilegedProcess)
            return "A container with systemd as process 1 needs root.";
        using var folder = new ScratchFolder();
        return ExternalProgram.FindObstacle(
            "This machine cannot run systemd as process 1 of a container", "bash", Script, "check", folder.Path);
    }

    public static async Task<SystemdRoot> StartAsync()
    {
        var folder = new ScratchFolder();
        var process = ServerProcess.Start("bash", [Script, "start", folder.Path, Repository.Root]);
        var root = new SystemdRoot(folder, process);
        try
        {
            await Waiting.UntilAsync(
                () => Task.FromResult(File.Exists(Path.Combine(folder.Path, "pid"))),
                () => process.HasExited ? process.Output : null,
                "systemd to start");
            return root;
        }
        catch
        {
            await root.DisposeAsync();
            throw;
        }
    }

    /// <summary>
    /// Runs a block of commands in the repository's folder. A command that fails stops the block and fails the test.
    /// </summary>
    /// <returns>Its standard output.</returns>
    public async Task<string> RunAsync(string commands)
    {
        var (exitCode, output, error) = await TryRunAsync(commands);
        if (exitCode != 0)
            Assert.Fail(
                $"{commands}\nended with {exitCode}:\n{output}{error}\n"
                    + $"{(await TryRunAsync("journalctl --no-pager -n 40")).Output}");
        return output;
    }

    /// <summary>Runs a block of commands in the repository's folder, up to the first that fails.</summary>
    public async Task<(int ExitCode, string Output, string Error)> TryRunAsync(string commands)
    {
        using var process = Process.Start(new ProcessStartInfo(
            "bash", [Script, "run", _folder.Path, "bash", "-ec", commands])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = Repository.Root,
            Environment =
            {
                // It has its own temporary folder.
                ["TMPDIR"] = "/tmp",
                // Build servers would keep the pipes open. The rest only shortens the build.
                ["MSBUILDDISABLENODEREUSE"] = "1",
                ["UseSharedCompilation"] = "false",
                ["RunAnalyzers"] = "false",
                ["CompressionEnabled"] = "false",
            },
        })!;
        var error = process.StandardError.ReadToEndAsync();
        var output = await process.StandardOutput.ReadToEndAsync();
        await process.WaitForExitAsync();
        return (process.ExitCode, output, await error);
    }

    public async ValueTask DisposeAsync()
    {
        if (File.Exists(Path.Combine(_folder.Path, "pid")))
        {
            using var stop = Process.Start("bash", [Script, "stop", _folder.Path]);
            await stop.WaitForExitAsync();
        }

        await _process.DisposeAsync();
        _folder.Dispose();
    }
}

/// <summary>A test that needs systemd as process 1. It is skipped where this is not permitted.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class SystemdFactAttribute : FactAttribute
{
    private static readonly Lazy<string?> s_obstacle = new(SystemdRoot.FindObstacle);

    public override string? Skip { get; set; } = s_obstacle.Value;
}
