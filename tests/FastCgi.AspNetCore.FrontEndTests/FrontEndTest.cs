namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// A test that starts sites. At its end, it stops them and prints their logs. An unexpected error in the log of
/// the application or the web server fails the test.
/// </summary>
public abstract class FrontEndTest(ITestOutputHelper output) : IAsyncLifetime
{
    private readonly List<Site> _sites = [];

    /// <summary>The maximum time to wait for an expected event. Only a failing test waits that long.</summary>
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
        // HAProxy follows this value, and with much larger ones answers some requests with 500.
        if (setup.AsksForValues)
            configureServer += static options => options.Limits.MaxRequestsPerConnection = 30;
        var site = await Site.StartAsync(setup, configure, configureServer, configureBuilder, more);
        _sites.Add(site);
        return site;
    }

    private void Report(Site site)
    {
        output.WriteLine("The web server's log:");
        foreach (var line in site.FrontEnd.Log.Split('\n')
            .Where(line => !line.Contains("notice]")))
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
        Assert.Null(Invariants.FirstViolation);
        if (!ExpectsFrontEndErrors)
            Assert.Empty(frontEndErrors);
    }
}
