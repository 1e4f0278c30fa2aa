namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>Chromium, without a screen.</summary>
internal static class Browser
{
    public const string Path = "/usr/bin/chromium";

    /// <summary>Loads a page, lets its script run, and returns the document as it is then.</summary>
    public static Task<string> LoadAsync(string url, string folder) => RunAsync(folder, "--dump-dom", "--virtual-time-budget=1000", url);

    /// <summary>Takes a picture of a page.</summary>
    public static Task TakePictureAsync(string url, string folder, string file, int width, int height) => RunAsync(
        folder, $"--screenshot={file}", $"--window-size={width},{height}", "--hide-scrollbars", "--virtual-time-budget=1000", "--disable-features=DarkMode", url);

    private static Task<string> RunAsync(string folder, params string[] arguments)
        => LoadRun.RunAsync(Path, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", $"--user-data-dir={folder}/browser", .. arguments]);
}
