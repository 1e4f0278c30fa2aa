namespace FastCgi.AspNetCore.Hosting;

/// <summary>Detects a start from another folder than that of the published application.</summary>
internal static class WebRoot
{
    /// <param name="environment">The environment; hosting leaves WebRootPath empty if there is no wwwroot.</param>
    public static void Report(IWebHostEnvironment? environment, string baseDirectory, ILogger log)
    {
        if (environment is not null && string.IsNullOrEmpty(environment.WebRootPath)
            && Directory.Exists(Path.Combine(baseDirectory, "wwwroot")))
            log.WebRootMissing(environment.ContentRootPath, Path.TrimEndingDirectorySeparator(baseDirectory));
    }
}
