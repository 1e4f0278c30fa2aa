using System.Diagnostics;

namespace FastCgi.Tool.Tests;

/// <summary>The tool as a process: its streams, its exit code, and signals.</summary>
public sealed class ProcessTests
{
    private static readonly string s_tool = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

    [Fact]
    public async Task Request_WritesTheBodyToStandardOutput()
    {
        await using var server = await SampleServer.StartAsync();
        await using var process = ServerProcess.Start("dotnet", [s_tool, "request", server.Address, "http://example.com/", "-i"]);

        Assert.Equal(0, await process.WaitForExitAsync(Waiting.Patience));
        Assert.StartsWith("Status: 200 OK\nContent-Type: text/plain; charset=utf-8\n", process.Output, StringComparison.Ordinal);
        Assert.EndsWith("\nhello", process.Output.TrimEnd(), StringComparison.Ordinal);
        await using var failing = ServerProcess.Start("dotnet", [s_tool, "request", "unix:/nonexistent/app.sock", "/"]);
        Assert.Equal(3, await failing.WaitForExitAsync(Waiting.Patience));
    }

    /// <summary>Where nothing can be written, only the code is left.</summary>
    [LinuxTheory]
    [InlineData("request unix:/nonexistent/app.sock / 2>&-", 3)]
    [InlineData("request unix:/nonexistent/app.sock / >&- 2>&-", 3)]
    [InlineData("request unix:/nonexistent/app.sock / -v 2>/dev/full", 3)]
    [InlineData("request 2>&-", 2, 3)]
    [InlineData("config nginx >&-", 3)]
    [InlineData("top unix:/nonexistent/app.sock --json > /dev/full", 3)]
    public async Task ClosedStreams_HaveAnExitCode(string command, params int[] codes)
    {
        await using var process = ServerProcess.Start("bash", ["-c", $"dotnet {s_tool} {command}; exit $?"]);
        Assert.Contains(await process.WaitForExitAsync(Waiting.Patience), codes);
    }

    /// <summary>Although nobody reads its log.</summary>
    [Fact]
    public async Task Proxy_Interrupted_EndsWell()
    {
        await using var server = await SampleServer.StartAsync();
        using var process = Process.Start(new ProcessStartInfo("dotnet", [s_tool, "proxy", server.Address, "--listen", "http://127.0.0.1:0"]) { RedirectStandardError = true, RedirectStandardOutput = true })!;
        try
        {
            var line = await process.StandardError.ReadLineAsync().Within("the address");
            Assert.StartsWith("Listening on http://127.0.0.1:", line, StringComparison.Ordinal);
            using var client = new HttpClient();
            for (var i = 0; i < 50; i++)
                Assert.Equal("hello", await client.GetStringAsync($"{line!.Split(' ', ',')[2]}/?{new string('a', 4_000)}").Within("an answer, while the log is full"));
            // A process that was started in the background of a shell ignores the interrupt key; systemd's signal ends it all the same.
            using var kill = Process.Start("kill", [IsInterruptIgnored(process) ? "-TERM" : "-INT", $"{process.Id}"]);
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
        var ignored = File.ReadLines($"/proc/{process.Id}/status").First(static line => line.StartsWith("SigIgn:", StringComparison.Ordinal))["SigIgn:".Length..].Trim();
        return (Convert.ToUInt64(ignored, 16) & (1UL << (Interrupt - 1))) != 0;
    }
}
