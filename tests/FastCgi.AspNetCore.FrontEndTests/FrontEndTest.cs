namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// A test that starts sites. At its end they are stopped, what they logged is shown if the test failed, and an error in the log of
/// the application or of the web server that the test did not expect fails it.
/// </summary>
public abstract class FrontEndTest(ITestOutputHelper output) : IAsyncLifetime
{
    private readonly List<Site> _sites = [];

    /// <summary>How long a test waits for what must happen; it passes only where a test fails.</summary>
    internal static TimeSpan Patience { get; } = TimeSpan.FromSeconds(60);

    /// <summary>Set by a test that makes the web server report errors.</summary>
    protected bool ExpectsFrontEndErrors { get; set; }

    public Task InitializeAsync() => Task.CompletedTask;

    public async Task DisposeAsync()
    {
        foreach (var site in _sites)
            await site.DisposeAsync();
        foreach (var site in _sites)
            Report(site);
        foreach (var site in _sites)
            Verify(site);
    }

    private protected async Task<Site> StartAsync(
        FrontEndSetup setup,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null,
        string more = "")
    {
        // HAProxy does as it is told, and answers some requests with 500 if it is told to have many more on a connection.
        if (setup.AsksForValues)
            configureServer += static options => options.Limits.MaxRequestsPerConnection = 30;
        var site = await Site.StartAsync(setup, configure, configureServer, configureBuilder, more);
        _sites.Add(site);
        return site;
    }

    private void Report(Site site)
    {
        output.WriteLine("The web server's log:");
        foreach (var line in site.FrontEnd.Log.Split('\n').Where(line => !line.Contains("notice]", StringComparison.Ordinal)))
            output.WriteLine(line);
        output.WriteLine("The application's log:");
        foreach (var log in site.Log.All)
            output.WriteLine($"{log}");
    }

    private void Verify(Site site)
    {
        var frontEndErrors = site.FrontEnd.Errors.ToList();
        site.Folder.Dispose();
        site.Log.Verify();
        if (!ExpectsFrontEndErrors)
            Assert.Empty(frontEndErrors);
    }
}
