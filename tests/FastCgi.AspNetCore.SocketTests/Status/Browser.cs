using System.Diagnostics;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>Chromium, without a screen.</summary>
internal static class Browser
{
    /// <summary>Loads a page, runs its script, and returns the resulting document.</summary>
    public static async Task<string> LoadAsync(string url, string folder)
    {
        string[] arguments =
        [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            $"--user-data-dir={folder}/browser", "--dump-dom", "--virtual-time-budget=1000", url,
        ];
        var start = new ProcessStartInfo(Programs.Find("chromium"), arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["HOME"] = folder;
        using var process = Process.Start(start)!;
        var errors = process.StandardError.ReadToEndAsync();
        var text = await process.StandardOutput.ReadToEndAsync().Within("the browser");
        await process.WaitForExitAsync().Within("the browser to end");
        Assert.True(process.ExitCode == 0, await errors);
        return text;
    }
}
