using System.Diagnostics;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>Chromium, without a screen.</summary>
internal static class Browser
{
    /// <summary>Loads a page, runs its script, and returns the resulting document.</summary>
    public static Task<string> LoadAsync(string url, string folder)
        => RunAsync(folder, "--dump-dom", "--virtual-time-budget=1000", url);

    public static Task TakePictureAsync(string url, string folder, string file, int width, int height) => RunAsync(
        folder,
        $"--screenshot={file}",
        $"--window-size={width},{height}",
        "--hide-scrollbars",
        "--virtual-time-budget=1000",
        "--disable-features=DarkMode",
        url);

    private static async Task<string> RunAsync(string folder, params string[] arguments)
    {
        string[] all =
        [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            $"--user-data-dir={folder}/browser", .. arguments,
        ];
        var start = new ProcessStartInfo(Programs.Find("chromium"), all)
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
