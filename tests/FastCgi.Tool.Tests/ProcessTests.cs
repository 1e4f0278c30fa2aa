namespace FastCgi.Tool.Tests;

/// <summary>The tool as a process: its streams, its exit code, and signals.</summary>
public sealed class ProcessTests
{
    private static readonly string s_tool = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

    /// <summary>If nothing can be written, the exit code still reports the failure.</summary>
    [LinuxTheory]
    [InlineData("request unix:/nonexistent/app.sock / 2>&-", 3)]
    [InlineData("request unix:/nonexistent/app.sock / >&- 2>&-", 3)]
    [InlineData("request unix:/nonexistent/app.sock / -v 2>/dev/full", 3)]
    [InlineData("request 2>&-", 2)]
    [InlineData("config nginx >&-", 3)]
    [InlineData("config nginx <&- >&-", 3)]
    [InlineData("config nginx <&- >&- 2>&-", 3)]
    [InlineData("config nginx > /dev/full", 3)]
    [InlineData("config nginx | true", 3)]
    [InlineData("top unix:/nonexistent/app.sock --json > /dev/full", 3)]
    public async Task ClosedStreams_HaveAnExitCode(string command, int code)
    {
        await using var process = ServerProcess.Start(
            "bash", ["-c", $"set -o pipefail; dotnet '{s_tool}' {command}; exit $?"]);
        Assert.Equal(code, await process.WaitForExitAsync(Waiting.Patience));
    }

    [LinuxTheory]
    [InlineData("top {0} --json | head -n 1")]
    [InlineData("request {0} /endless | head -c 10")]
    [InlineData("request {0} /endless -o /dev/fd/3 3>&1 | head -c 10")]
    public async Task Reader_Closes_EndsTheCommand(string command)
    {
        await using var server = await SampleServer.StartAsync();
        await using var process = ServerProcess.Start(
            "bash", ["-c", $"set -o pipefail; dotnet '{s_tool}' {string.Format(null, command, server.Address)}"]);

        Assert.Equal(3, await process.WaitForExitAsync(Waiting.Patience));
        Assert.Contains("fastcgi: Broken pipe", process.Output);
    }

    /// <summary>An unknown locale would end a .NET process that uses cultures.</summary>
    [LinuxTheory, Values("LANG=UTF-8", "LC_ALL=nowhere")]
    public async Task Locale_Unknown_IsNotAFailure(string variable)
    {
        await using var process = ServerProcess.Start("env", [variable, "dotnet", s_tool, "config", "nginx"]);
        Assert.Equal(0, await process.WaitForExitAsync(Waiting.Patience));
    }

    /// <summary>The log is not read.</summary>
    [Fact]
    public async Task Proxy_Interrupted_EndsWell()
    {
        await using var server = await SampleServer.StartAsync();
        using var process = Process.Start(
            new ProcessStartInfo("dotnet", [s_tool, "proxy", server.Address, "--listen", "http://127.0.0.1:0"])
            {
                RedirectStandardError = true,
                RedirectStandardOutput = true,
            })!;
        try
        {
            var line = await process.StandardError.ReadLineAsync().Within("the address");
            Assert.StartsWith("Listening on http://127.0.0.1:", line);
            using var client = new HttpClient();
            for (var i = 0; i < 50; i++)
                Assert.Equal(
                    "hello",
                    await client.GetStringAsync($"{line!.Split(' ', ',')[2]}/?{new string('a', 4_000)}")
                        .Within("an answer, while the log is full"));
            // A shell's background processes ignore SIGINT.
            Signal.Send(process.Id, IsInterruptIgnored(process) ? "TERM" : "INT");
            await process.WaitForExitAsync().Within("the end");

            Assert.Equal(0, process.ExitCode);
        }
        finally
        {
            if (!process.HasExited)
                process.Kill();
        }
    }

    private static bool IsInterruptIgnored(Process process)
    {
        const int Interrupt = 2;
        var ignored = File.ReadLines($"/proc/{process.Id}/status")
            .First(static line => line.StartsWith("SigIgn:", StringComparison.Ordinal))["SigIgn:".Length..]
            .Trim();
        return (Convert.ToUInt64(ignored, 16) & (1UL << (Interrupt - 1))) != 0;
    }
}
