using System.Security.Cryptography.X509Certificates;
using FastCgi.AspNetCore.ParityTests.Application.SignalR;
using FastCgi.AspNetCore.ParityTests.SignalRClient;
using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.ParityTests;

/// <summary>
/// Kestrel serves a hub alongside FastCGI, behind the HTTPS site of <c>docs/migration.md</c>, with the code and the
/// configuration of <c>docs/websockets.md</c>.
/// </summary>
public sealed partial class WebSocketTests : IClassFixture<NodeClient>, IAsyncLifetime, IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _httpsPort = new();
    private readonly Certificates _certificates = new();
    private readonly WebServerProcess _webServer;
    private readonly HttpClient _client;
    private WebApplication? _app;

    public WebSocketTests()
    {
        _webServer = new WebServerProcess(_folder.Path);
        var trust = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            CustomTrustStore = { _certificates.Authority },
            RevocationMode = X509RevocationMode.NoCheck,
        };
        _client = new HttpClient(new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseProxy = false,
            SslOptions = { CertificateChainPolicy = trust },
        });
    }

    private string Https => $"https://localhost:{_httpsPort.EndPoint.Port}";

    public Task InitializeAsync() => Task.CompletedTask;

    public async Task DisposeAsync()
    {
        // Apache would wait for responses that have not ended.
        if (_app is not null)
            await _app.DisposeAsync();
        await _webServer.DisposeAsync();
    }

    public void Dispose()
    {
        _client.Dispose();
        _certificates.Dispose();
        _httpsPort.Dispose();
        _folder.Dispose();
    }

    [Theory]
    [InlineData("nginx", "WebSocket")]
    [InlineData("nginx", "ServerSentEvents")]
    [InlineData("nginx", "LongPolling")]
    [InlineData("apache", "WebSocket")]
    [InlineData("apache", "ServerSentEvents")]
    [InlineData("apache", "LongPolling")]
    public async Task Chat_OverATransport_Works(string webServer, string transport)
    {
        await StartAsync(webServer);

        // Node tries only the first address of localhost, which may be the one of IPv6.
        var output = await NodeClient.ChatAsync(
            $"https://{_httpsPort.EndPoint}", transport == "WebSocket" ? "WebSockets" : transport);

        Assert.StartsWith($"transport: \"{transport}Transport\"\nwelcome: \"127.0.0.1\"\n", output);
        Assert.EndsWith("closed: null\n", output);
    }

    /// <summary>
    /// The middleware trusts this client's address by default, so only the condition protects FastCGI requests.
    /// </summary>
    [Theory]
    [InlineData("nginx", "")]
    [InlineData("nginx", "/chat")]
    [InlineData("apache", "")]
    [InlineData("apache", "/chat")]
    public async Task ForwardedHeaders_OfAClient_ChangeNothing(string webServer, string path)
    {
        await StartAsync(webServer);

        Assert.Equal("200 https localhost 127.0.0.1", await GetWithForgedHeadersAsync(Https, path, "http"));
        var http = $"http://localhost:{_webServer.EndPoint.Port}";
        Assert.Equal($"307 {Https}{path}/whoami", await GetWithForgedHeadersAsync(http, path, "https"));
    }

    /// <summary>Otherwise, Apache would change the ETag of what it compresses, and send all of it again.</summary>
    [Fact]
    public async Task Site_CompressedByApache_IsNotSentAgain()
    {
        await StartAsync("apache");
        using var request = new HttpRequestMessage(HttpMethod.Get, Https + "/style.css");
        request.Headers.AcceptEncoding.ParseAdd("gzip");
        using var first = await _client.SendAsync(request);
        using var again = new HttpRequestMessage(HttpMethod.Get, Https + "/style.css");
        again.Headers.AcceptEncoding.ParseAdd("gzip");
        again.Headers.IfNoneMatch.Add(first.Headers.ETag!);
        using var second = await _client.SendAsync(again);

        Assert.Equal("gzip", Assert.Single(first.Content.Headers.ContentEncoding));
        Assert.Equal(HttpStatusCode.NotModified, second.StatusCode);
    }

    [Fact]
    public async Task Page_Code_EqualsTheTestedCode()
    {
        var block = await DocumentBlock.ReadAsync("websockets.md", "forwarded headers");
        var source = await File.ReadAllTextAsync(
            Repository.GetPath("tests/FastCgi.AspNetCore.ParityTests/WebSocketTests.cs"));

        Assert.Contains(LeadingSpace().Replace(block, ""), LeadingSpace().Replace(source, ""));
    }

    private async Task StartAsync(string webServer)
    {
        var kestrel = await StartApplicationAsync();
        using var certificate = _certificates.CreateServer();
        await File.WriteAllTextAsync(_folder.GetPath("certificate.pem"), certificate.ExportCertificatePem());
        using var key = certificate.GetECDsaPrivateKey()!;
        await File.WriteAllTextAsync(_folder.GetPath("key.pem"), key.ExportECPrivateKeyPem());
        File.Copy(Programs.NginxParameters, _folder.GetPath("fastcgi_params"));

        var (siteBlock, hubBlock) =
            webServer == "nginx" ? ("first nginx", "nginx websocket") : ("first apache", "apache websocket");
        var site = HereDocument().Match(await DocumentBlock.ReadAsync("migration.md", siteBlock)).Groups["text"].Value;
        var hub = await DocumentBlock.ReadAsync("websockets.md", hubBlock);
        site = LastDirective().Replace(site, hub + "\n$0").Replace("127.0.0.1:5000", kestrel)
            .Replace("/run/hello", _folder.Path)
            .Replace("/etc/ssl/hello", _folder.Path);
        site = Ipv6Port().Replace(site, "");
        site = HttpPort().Replace(site, $"{_webServer.EndPoint}");
        site = HttpsPort().Replace(site, $"{_httpsPort.EndPoint}");
        var ports = $"{_webServer.EndPoint.Port}\nListen {_httpsPort.EndPoint}";
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "Documents", $"{webServer}-frame.conf"));
        var text = frame.Replace("{{port}}", ports)
            .Replace("{{block}}", site);
        await File.WriteAllTextAsync(_folder.GetPath("site.conf"), text);
        await (webServer == "nginx"
            ? _webServer.StartAsync("nginx", ["-p", _folder.Path, "-c", "site.conf", "-e", "error.log"])
            : _webServer.StartAsync("apache2", ["-d", _folder.Path, "-f", "site.conf", "-D", "FOREGROUND"]));
    }

    /// <returns>Where Kestrel listens.</returns>
    private async Task<string> StartApplicationAsync()
    {
        var builder = WebApplication.CreateBuilder();
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseUrls($"fastcgi://unix:{_folder.Path}/app.sock?mode=0666", "http://127.0.0.1:0");
        builder.Configuration["HTTPS_PORT"] = $"{_httpsPort.EndPoint.Port}";
        builder.Logging.ClearProviders();
        builder.Services.AddSignalR();
        var app = builder.Build();
        app.UseWhen(
            context => context.Features.Get<IFastCgiRequestFeature>() is null,
            kestrel => kestrel.UseForwardedHeaders(new()
            {
                ForwardedHeaders = ForwardedHeaders.XForwardedFor | ForwardedHeaders.XForwardedProto,
            }));
        app.UseHttpsRedirection();
        app.MapHub<ChatHub>("/chat");
        app.MapGet("/style.css", static () => Results.Bytes(new byte[5_000], "text/css", entityTag: new("\"v1\"")));
        foreach (var path in new[] { "/whoami", "/chat/whoami" })
        {
            app.MapGet(path, static (HttpContext context)
                => $"{context.Request.Scheme} {context.Request.Host.Host} {context.Connection.RemoteIpAddress}");
        }

        _app = app;
        await app.StartAsync();
        return app.Urls.Single(static url => url.StartsWith("http://", StringComparison.Ordinal))["http://".Length..];
    }

    private async Task<string> GetWithForgedHeadersAsync(string site, string path, string scheme)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, $"{site}{path}/whoami");
        request.Headers.Add("X-Forwarded-For", "203.0.113.6");
        request.Headers.Add("X-Forwarded-Proto", scheme);
        request.Headers.Add("X-Forwarded-Host", "forged.example");
        request.Headers.Add("X-Original-Proto", scheme);
        request.Headers.Add("Forwarded", $"for=203.0.113.6;proto={scheme};host=forged.example");
        using var response = await _client.SendAsync(request);
        var result = response.Headers.Location?.ToString() ?? await response.Content.ReadAsStringAsync();
        return $"{(int)response.StatusCode} {result}";
    }

    [GeneratedRegex(@"<< 'END'.*?\n(?<text>.*?)\nEND\b", RegexOptions.Singleline)]
    private static partial Regex HereDocument();

    /// <summary>What passes everything to the application, which the page has last.</summary>
    [GeneratedRegex(@"^    (location / \{|ProxyPass ""/"" )", RegexOptions.Multiline)]
    private static partial Regex LastDirective();

    [GeneratedRegex(@"^ *listen \[::\].*\n", RegexOptions.Multiline)]
    private static partial Regex Ipv6Port();

    [GeneratedRegex(@"(?<=listen )80\b|\*:80\b")]
    private static partial Regex HttpPort();

    [GeneratedRegex(@"(?<=listen )443\b|\*:443\b")]
    private static partial Regex HttpsPort();

    [GeneratedRegex("^ +", RegexOptions.Multiline)]
    private static partial Regex LeadingSpace();
}
