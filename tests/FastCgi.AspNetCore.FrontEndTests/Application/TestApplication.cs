using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Hosting;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>The application under test, made and started as a user's Program.cs does it.</summary>
internal sealed class TestApplication : IAsyncDisposable
{
    private const string UnixPrefix = "fastcgi://unix:";
    private const string TcpPrefix = "fastcgi://";
    private const string HttpPrefix = "http://";

    // Limits how long a stuck handler of a failing test delays the end of that test.
    private static readonly TimeSpan s_shutdownTimeout = TimeSpan.FromSeconds(5);

    private readonly WebApplication _app;

    private TestApplication(WebApplication app, CollectedLogs log)
    {
        _app = app;
        Log = log;
    }

    public CollectedLogs Log { get; }

    /// <summary>Where it listens, as the server publishes it.</summary>
    public EndPoint EndPoint { get; private set; } = null!;

    /// <summary>Where Kestrel listens, if it does.</summary>
    public string? HttpAddress
        => _app.Urls.SingleOrDefault(static url => url.StartsWith(HttpPrefix, StringComparison.Ordinal))?[
            HttpPrefix.Length..];

    public static async Task<TestApplication> StartAsync(
        string address,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null)
    {
        var builder = WebApplication.CreateBuilder(new WebApplicationOptions
        {
            EnvironmentName = Environments.Production,
            // Each watcher of appsettings.json is an inotify instance, and there are few of them.
            Args = ["--hostBuilder:reloadConfigOnChange=false"],
        });
        builder.WebHost.UseFastCgi(configureServer ?? (_ => { }));
        builder.WebHost.UseUrls(address);
        builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = s_shutdownTimeout);

        var log = new CollectedLogs();
        builder.Logging.ClearProviders()
            .SetMinimumLevel(LogLevel.Warning)
            .AddFilter("FastCgi", LogLevel.Debug)
            .AddProvider(log);

        configureBuilder?.Invoke(builder);

        var application = new TestApplication(builder.Build(), log);
        configure(application._app);
        await application._app.StartAsync();
        application.EndPoint = Parse(
            application._app.Urls.Single(static url => url.StartsWith(TcpPrefix, StringComparison.Ordinal)));
        return application;
    }

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        await _app.DisposeAsync();
    }

    private static EndPoint Parse(string address)
        => address.StartsWith(UnixPrefix, StringComparison.Ordinal)
            ? new UnixDomainSocketEndPoint(address[UnixPrefix.Length..])
            : IPEndPoint.Parse(address[TcpPrefix.Length..]);
}
