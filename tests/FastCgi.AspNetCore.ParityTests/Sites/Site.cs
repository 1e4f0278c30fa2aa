using FastCgi.AspNetCore.ParityTests.Application;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.Hosting;

namespace FastCgi.AspNetCore.ParityTests.Sites;

/// <summary>The application, the server that serves it, and the web server in front of that.</summary>
internal sealed class Site : IAsyncDisposable
{
    /// <summary>The host that clients request, so that responses contain no port.</summary>
    public const string HostName = "parity.example";

    // The tests themselves check for the errors that they cause.
    private static readonly string[] s_errorMarks = ["emerg]", "alert]", "crit]"];

    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _httpsPort = new();
    private readonly SiteCertificates _certificates;
    private WebApplication? _app;
    private FrontEnd? _frontEnd;

    private Site(SiteKind kind, SiteCertificates certificates)
    {
        Kind = kind;
        _certificates = certificates;
    }

    public SiteKind Kind { get; }

    public SeenRequests Requests { get; } = new();

    /// <summary>The HTTP address for clients.</summary>
    public IPEndPoint Http { get; private set; } = null!;

    /// <summary>The HTTPS address for clients.</summary>
    public IPEndPoint Https { get; private set; } = null!;

    public static async Task<Site> StartAsync(SiteKind kind, SiteCertificates certificates)
    {
        var site = new Site(kind, certificates);
        try
        {
            await site.StartApplicationAsync();
            await site.StartFrontEndAsync();
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        // This ends pending requests, which Apache would wait for.
        await StopApplicationAsync();
        if (_frontEnd is not null)
            await _frontEnd.DisposeAsync();
        _httpsPort.Dispose();
        _folder.Dispose();
    }

    private async Task StopApplicationAsync()
    {
        if (_app is null)
            return;
        await _app.StopAsync();
        await _app.DisposeAsync();
        _app = null;
    }

    private async Task StartApplicationAsync()
    {
        var builder = WebApplication.CreateBuilder(new WebApplicationOptions
        {
            ApplicationName = typeof(ParityApplication).Assembly.GetName().Name,
            ContentRootPath = AppContext.BaseDirectory,
            EnvironmentName = Environments.Production,
            // Each watcher of appsettings.json is an inotify instance, and there are few of them.
            Args = ["--hostBuilder:reloadConfigOnChange=false"],
        });
        UseServer(builder.WebHost);
        builder.Logging.ClearProviders().AddProvider(new RequestLog(Requests));
        builder.Services.AddSingleton(Requests);
        builder.Configuration["KeyFolder"] = Path.Combine(_folder.Path, "keys");
        ParityApplication.ConfigureBuilder(builder);

        _app = builder.Build();
        _app.UseMiddleware<RequestObserver>();
        ParityApplication.ConfigureApplication(_app);
        await _app.StartAsync();
    }

    private void UseServer(IWebHostBuilder webHost)
    {
        switch (Kind)
        {
            case SiteKind.FastCgiBehindNginx:
                webHost.UseFastCgi().UseUrls(_folder.GetAddress(usesUnixSocket: true));
                break;
            case SiteKind.FastCgiBehindApache:
                webHost.UseFastCgi().UseUrls(_folder.GetAddress(usesUnixSocket: false));
                break;
            default:
                webHost.ConfigureKestrel(options =>
                {
                    options.Listen(IPAddress.Loopback, 0);
                    options.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(https =>
                    {
                        https.ServerCertificate = _certificates.Server;
                        https.ClientCertificateMode = ClientCertificateMode.AllowCertificate;
                        https.AllowAnyClientCertificate();
                    }));
                });
                break;
        }
    }

    private async Task StartFrontEndAsync()
    {
        var addresses = _app!.Urls.ToList();
        if (Kind == SiteKind.Kestrel)
        {
            Http = Parse(addresses.Single(address => address.StartsWith("http:", StringComparison.Ordinal)));
            Https = Parse(addresses.Single(address => address.StartsWith("https:", StringComparison.Ordinal)));
            return;
        }

        _certificates.WriteTo(_folder.Path);
        // An address without its scheme, as nginx writes it, also that of a Unix socket.
        var application = addresses[0][(addresses[0].IndexOf("//", StringComparison.Ordinal) + 2)..];
        _frontEnd = await (Kind switch
        {
            SiteKind.KestrelBehindNginx => StartNginxAsync(application, "to-kestrel.conf"),
            SiteKind.FastCgiBehindNginx => StartNginxAsync(application, "to-fastcgi.conf"),
            _ => StartAsync(
                FrontEndKind.Apache,
                new("apache2", ["-d", "{{folder}}", "-f", "apache-https.conf", "-D", "FOREGROUND"],
                    ["apache-https.conf"], s_errorMarks),
                ("application", $"fcgi://{application}/"),
                ("modules", "/usr/lib/apache2/modules")),
        });

        Http = _frontEnd.EndPoint;
        Https = _httpsPort.EndPoint;
    }

    private Task<FrontEnd> StartNginxAsync(string application, string location) => StartAsync(
        FrontEndKind.Nginx,
        new("nginx", ["-p", "{{folder}}", "-c", "nginx-https.conf", "-e", "error.log"],
            ["nginx-https.conf", "fastcgi_app.conf", location], s_errorMarks),
        ("application", application),
        ("location", location));

    private Task<FrontEnd> StartAsync(
        FrontEndKind kind, FrontEndProgram program, params (string Name, string Value)[] values)
        => FrontEnd.StartAsync(
            program,
            new FrontEndSetup { Kind = kind },
            _folder.Path,
            [.. values, ("https-port", $"{_httpsPort.EndPoint.Port}")]);

    private static IPEndPoint Parse(string address)
        => IPEndPoint.Parse(address[(address.IndexOf("//", StringComparison.Ordinal) + 2)..]);
}
