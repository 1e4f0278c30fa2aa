namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// The README's commands, unchanged, on a separate machine: Debian's configuration of nginx, with its default site, its
/// ports and its folders, and no network.
/// </summary>
public sealed partial class ReadmeTests
{
    [MachineFact]
    public async Task Commands_Copied_EndInAnAnswer()
    {
        using var folder = new ScratchFolder();
        await CopySourceAsync(folder.Path);

        var (exitCode, output) = await RunAsync(
            folder.Path,
            await ReadBlockAsync("run by ReadmeTests"),
            await ReadBlockAsync("undo"),
            "wait",
            "[ ! -e ../hello ] && [ ! -e /etc/nginx/conf.d/hello.conf ]");

        Assert.True(exitCode == 0 && output.Contains("Hello World!\n"), output);
        Assert.DoesNotContain("warning", output);
        Assert.Contains("Now listening on: fastcgi://127.0.0.1:9000", output);
    }

    [MachineFact]
    public async Task Commands_ProgramDoesNotCompile_NothingIsStarted()
    {
        var commands = await ReadBlockAsync("run by ReadmeTests");
        using var folder = new ScratchFolder();
        await CopySourceAsync(folder.Path);

        var (exitCode, output) = await RunAsync(
            folder.Path,
            commands.Replace("UseFastCgi();", "NoSuchMethod();") + " || true",
            "[ -z \"$(jobs)\" ]");

        Assert.True(exitCode == 0 && output.Contains("NoSuchMethod"), output);
    }

    /// <summary>A fresh clone, without build output.</summary>
    internal static async Task CopySourceAsync(string folder)
    {
        const string Copy =
            """
            mkdir "$2/clone" &&
            tar -c -C "$1" --exclude=bin --exclude=obj --exclude=./.git --exclude=./tests --exclude=./perf . |
            tar -x -C "$2/clone"
            """;
        Assert.Equal((0, ""), await ExternalProgram.RunAsync("sh", "-c", Copy, "sh", Repository.Root, folder));
    }

    private static async Task<string> ReadBlockAsync(string mark)
    {
        var block = Block().Matches(await File.ReadAllTextAsync(Repository.GetPath("README.md")))
            .Single(match => match.Groups["mark"].Value == mark);
        return block.Groups["text"].Value.TrimEnd();
    }

    private static async Task<(int ExitCode, string Output)> RunAsync(string folder, params string[] commands)
    {
        // nginx writes to separate files here. The commands run as root, with or without sudo.
        await File.WriteAllTextAsync(Path.Combine(folder, "machine.sh"), string.Join('\n', [
            "set -e",
            "ip link set lo up",
            "for path in /run /var/log/nginx /var/lib/nginx; do mount -t tmpfs tmpfs $path; done",
            $"cp -r /etc/nginx '{folder}/nginx'",
            $"mount --bind '{folder}/nginx' /etc/nginx",
            "rm -f /etc/nginx/conf.d/*",
            "nginx",
            $"cd '{folder}/clone'",
            .. commands,
            "nginx -s stop",
        ]));
        return await RunAsync(
            ["--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-m", Path.Combine(folder, "machine.sh")]);
    }

    /// <summary>Runs a command on the separate machine.</summary>
    internal static async Task<(int ExitCode, string Output)> RunAsync(IEnumerable<string> arguments)
    {
        var startInfo = new ProcessStartInfo("unshare", arguments);
        var ofTheBuild = startInfo.Environment.Keys
            .Where(static name => name == "CI" || name.StartsWith("MSBuild", StringComparison.OrdinalIgnoreCase));
        foreach (var name in ofTheBuild.ToList())
            startInfo.Environment.Remove(name);
        startInfo.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        // A compiler server that is killed with the machine would leave its socket in /tmp.
        startInfo.Environment["UseSharedCompilation"] = "false";
        // The build of the repository has run the analyzers.
        startInfo.Environment["RunAnalyzers"] = "false";
        // It would take most of the time for a template with static files.
        startInfo.Environment["CompressionEnabled"] = "false";
        return await DotnetCommand.RunAsync(startInfo);
    }

    [GeneratedRegex(
        @"^<!-- (?<mark>[^\n]+) -->\n```sh\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Block();
}
