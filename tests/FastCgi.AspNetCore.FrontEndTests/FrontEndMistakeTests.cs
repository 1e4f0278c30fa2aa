using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.FrontEndTests.Documents;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// The smallest configurations of <c>docs/front-ends</c> with a usual mistake in them: the answer or a log has the cause and the line to add. What
/// the web server alone says of it stands in <c>docs/troubleshooting.md</c>.
/// </summary>
public sealed class FrontEndMistakeTests
{
    private static readonly string s_document = File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "Documents", "troubleshooting.md"));

    [Theory]
    [InlineData(FrontEndKind.Nginx, 502, "(2: No such file or directory) while connecting to upstream")]
    [InlineData(FrontEndKind.Apache, 503, "(2)No such file or directory: AH02454")]
    [InlineData(FrontEndKind.HaProxy, 503, "")]
    [InlineData(FrontEndKind.Lighttpd, 503, "No such file or directory")]
    public async Task Application_ThatIsNotThere_WebServersLogSaysSo(FrontEndKind kind, int status, string text)
    {
        await using var site = await MistakenSite.StartAsync(kind, configure: null, configureServer: null);

        Assert.Equal(status, (int)(await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync(text, site);
    }

    /// <summary>Root alone can be told apart from the user that the web server works as.</summary>
    [RootTheory]
    [InlineData(FrontEndKind.Nginx, 502, "(13: Permission denied)")]
    [InlineData(FrontEndKind.Apache, 503, "(13)Permission denied: AH02454")]
    public async Task Socket_ThatTheWebServerCannotOpen_WebServersLogSaysSo(FrontEndKind kind, int status, string text)
    {
        await using var site = await MistakenSite.StartAsync(kind, Reached, configureServer: null);
        File.SetUnixFileMode(site.SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);

        Assert.Equal(status, (int)(await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync(text, site);
    }

    [Fact]
    public async Task Queue_OfTheSocketIsFull_NginxSaysSo()
    {
        await using var site = await MistakenSite.StartAsync(FrontEndKind.Nginx, configure: null, configureServer: null);
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(site.SocketPath));
        listener.Listen(0);
        File.SetUnixFileMode(site.SocketPath, (UnixFileMode)0b110_110_110);
        using var waiting = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await waiting.ConnectAsync(listener.LocalEndPoint!);

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync("(11: Resource temporarily unavailable) while connecting to upstream", site);
    }

    [Fact]
    public async Task Kestrel_InsteadOfFastCgi_NginxSaysSo()
    {
        var builder = WebApplication.CreateBuilder(["--urls", "http://127.0.0.1:0"]);
        builder.Logging.ClearProviders();
        await using var kestrel = builder.Build();
        await kestrel.StartAsync();
        await using var site = await MistakenSite.StartAsync(
            FrontEndKind.Nginx, configure: null, configureServer: null, ("unix:/run/hello/app.sock", kestrel.Urls.Single()["http://".Length..]));

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync("upstream sent unsupported FastCGI protocol version", site);
    }

    [Fact]
    public async Task Answer_ThatTakesTooLong_504AndNginxSaysSo()
    {
        await using var site = await MistakenSite.StartAsync(
            FrontEndKind.Nginx,
            static app => app.MapGet("/", static (HttpContext context) => Task.Delay(Timeout.Infinite, context.RequestAborted)),
            configureServer: null,
            ("fastcgi_read_timeout 120s;", "fastcgi_read_timeout 1s;"));

        Assert.Equal(HttpStatusCode.GatewayTimeout, (await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync("upstream timed out (110: Connection timed out) while reading response header from upstream", site);
    }

    [Fact]
    public async Task Failure_InTheMiddleOfAnAnswer_NginxSaysSo()
    {
        await using var site = await MistakenSite.StartAsync(
            FrontEndKind.Nginx, static app => app.MapGet("/", static (HttpContext context) => context.Abort()), configureServer: null);

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync("upstream sent invalid FastCGI record type: 2", site);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx, "fastcgi_pass unix:/run/hello/app.sock;", "proxy_pass http://unix:/run/hello/app.sock:;")]
    [InlineData(FrontEndKind.Apache, "ProxyPass \"/\" \"unix:/run/hello/app.sock|fcgi://hello/\"", "LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nProxyPass \"/\" \"unix:/run/hello/app.sock|http://hello/\"")]
    [InlineData(FrontEndKind.HaProxy, " proto fcgi", "")]
    [InlineData(FrontEndKind.Lighttpd, "fastcgi.server", "server.modules += (\"mod_proxy\")\nproxy.server")]
    public async Task Http_InsteadOfFastCgi_400AndWarningHaveTheLine(FrontEndKind kind, string documented, string mistaken)
    {
        var isHaProxy = kind == FrontEndKind.HaProxy;
        await using var site = await MistakenSite.StartAsync(
            kind, Reached, configureServer: null, isHaProxy ? [(documented, mistaken), ("    use-fcgi-app hello\n", "")] : [(documented, mistaken)]);

        using var response = await site.Client.GetAsync("/");

        Assert.Equal(HttpStatusCode.BadRequest, response.StatusCode);
        Assert.Contains("fastcgi_pass, mod_proxy_fcgi or alike", await response.Content.ReadAsStringAsync(), StringComparison.Ordinal);
        Assert.Contains("HTTP", await site.FindLogAsync(LogLevel.Warning, "WrongProtocol"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx, "fastcgi_pass unix:/run/hello/app.sock;", "proxy_pass https://unix:/run/hello/app.sock:;")]
    [InlineData(FrontEndKind.Apache, "ProxyPass \"/\" \"unix:/run/hello/app.sock|fcgi://hello/\"", "LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nSSLProxyEngine on\nProxyPass \"/\" \"unix:/run/hello/app.sock|https://hello/\"")]
    [InlineData(FrontEndKind.HaProxy, " proto fcgi", " ssl verify none")]
    public async Task Tls_InsteadOfFastCgi_WarningSaysSo(FrontEndKind kind, string documented, string mistaken)
    {
        await using var site = await MistakenSite.StartAsync(
            kind, Reached, configureServer: null, kind == FrontEndKind.HaProxy ? [(documented, mistaken), ("    use-fcgi-app hello\n", "")] : [(documented, mistaken)]);

        Assert.InRange((int)(await site.Client.GetAsync("/")).StatusCode, 500, 504);

        Assert.Contains("TLS", await site.FindLogAsync(LogLevel.Warning, "WrongProtocol"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Apache, 500, "AH01070: Error parsing script headers")]
    [InlineData(FrontEndKind.HaProxy, 502, "")]
    public async Task Head_BeyondTheBuffer_IsAnsweredByTheWebServer(FrontEndKind kind, int status, string text)
    {
        await using var site = await MistakenSite.StartAsync(
            kind, static app => app.MapGet("/", static (HttpResponse response) => response.Headers["X-Large"] = new string('x', 20_000)), configureServer: null);

        Assert.Equal(status, (int)(await site.Client.GetAsync("/")).StatusCode);
        await AssertDocumentedAsync(text, site);
    }

    [Fact]
    public async Task Body_BeyondTheLimitOfNginx_413AndItsLogSaysSo()
    {
        await using var site = await MistakenSite.StartAsync(FrontEndKind.Nginx, Reached, configureServer: null);

        using var response = await site.Client.PostAsync("/", new ByteArrayContent(new byte[1_100_000]));

        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, response.StatusCode);
        await AssertDocumentedAsync("client intended to send too large body", site);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx)]
    [InlineData(FrontEndKind.Apache)]
    [InlineData(FrontEndKind.HaProxy)]
    [InlineData(FrontEndKind.Lighttpd)]
    public async Task Body_BeyondTheLimit_413AndWarningHasTheSetting(FrontEndKind kind)
    {
        await using var site = await MistakenSite.StartAsync(
            kind, static app => app.MapPost("/", static (HttpRequest request) => Content.HashAsync(request.Body)), static options => options.Limits.MaxRequestBodySize = 1_000);
        site.Log.ExpectError("ApplicationError");

        using var response = await site.Client.PostAsync("/", new ByteArrayContent(new byte[1_001]));

        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, response.StatusCode);
        Assert.Contains("FastCgi:Limits:MaxRequestBodySize", await site.FindLogAsync(LogLevel.Warning, "RequestBodyTooLarge"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx, "include fastcgi_params;", "include fastcgi_params; fastcgi_param PATH_BASE /other;")]
    [InlineData(FrontEndKind.Apache, "CGIPassAuth On", "SetEnv PATH_BASE /other")]
    [InlineData(FrontEndKind.HaProxy, "docroot /", "docroot /\n    set-param PATH_BASE /other")]
    [InlineData(FrontEndKind.Lighttpd, "fastcgi.server", "server.modules += (\"mod_setenv\")\nsetenv.add-environment = (\"PATH_BASE\" => \"/other\")\nfastcgi.server")]
    public async Task PathBase_ThatIsNotTheLocations_404AndWarningHasTheLine(FrontEndKind kind, string documented, string mistaken)
    {
        await using var site = await MistakenSite.StartAsync(kind, static app => app.MapGet("/page", static () => "reached"), configureServer: null, (documented, mistaken));

        Assert.Equal(HttpStatusCode.NotFound, (await site.Client.GetAsync("/app/page")).StatusCode);

        var warning = await site.FindLogAsync(LogLevel.Warning, "PathBaseNotMatched");
        Assert.Contains("the last for /app/page), because their path does not begin with the path base '/other' from the parameter PATH_BASE.", warning, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx)]
    [InlineData(FrontEndKind.Apache)]
    [InlineData(FrontEndKind.HaProxy)]
    [InlineData(FrontEndKind.Lighttpd)]
    public async Task Scheme_OfALoadBalancerThatIsNotPassedOn_WarningHasTheLines(FrontEndKind kind)
    {
        await using var site = await MistakenSite.StartAsync(
            kind, static app => app.MapFallback(static (HttpRequest request) => Results.Redirect($"https://{request.Host.Host}{request.Path}")), configureServer: null);
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Add("X-Forwarded-Proto", "https");

        Assert.Equal(HttpStatusCode.Found, (await site.Client.SendAsync(request)).StatusCode);

        Assert.Contains("Behind a load balancer", await site.FindLogAsync(LogLevel.Warning, "RedirectToHttps"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Apache, "CGIPassAuth On", "")]
    [InlineData(FrontEndKind.HaProxy, "pass-header Authorization", "")]
    public async Task Authorization_ThatIsDropped_TheLogHasTheLine(FrontEndKind kind, string documented, string mistaken)
    {
        static void Guard(WebApplication app) => app.MapGet(
            "/", static (HttpRequest request) => request.Headers.Authorization == "Bearer token" ? Results.Text("reached") : Results.Unauthorized());
        await using var wrong = await MistakenSite.StartAsync(kind, Guard, configureServer: null, (documented, mistaken));
        await using var right = await MistakenSite.StartAsync(kind, Guard, configureServer: null);
        wrong.Client.DefaultRequestHeaders.Authorization = right.Client.DefaultRequestHeaders.Authorization = new("Bearer", "token");

        Assert.Equal(HttpStatusCode.Unauthorized, (await wrong.Client.GetAsync("/")).StatusCode);
        Assert.Equal("reached", await right.Client.GetStringAsync("/"));

        Assert.Contains(documented, await wrong.FindLogAsync(LogLevel.Information, "AuthorizationAbsent"), StringComparison.Ordinal);
        Assert.Empty(right.Log.Find(LogLevel.Information, "AuthorizationAbsent"));
    }

    [Theory]
    [InlineData(FrontEndKind.Apache, "flushpackets=on")]
    [InlineData(FrontEndKind.HaProxy, "option http-no-delay")]
    [InlineData(FrontEndKind.Lighttpd, "server.stream-response-body = 1")]
    public async Task Events_ThatAreHeld_TheLogHasTheLine(FrontEndKind kind, string line)
    {
        await using var site = await MistakenSite.StartAsync(
            kind,
            static app => app.MapGet("/", static (HttpResponse response) =>
            {
                response.ContentType = "text/event-stream";
                return response.WriteAsync("data: 1\n\n");
            }),
            configureServer: null,
            (line, ""));

        Assert.Equal("data: 1\n\n", await site.Client.GetStringAsync("/"));

        Assert.Contains(line, await site.FindLogAsync(LogLevel.Information, "EventStreamMayBeHeld"), StringComparison.Ordinal);
    }

    private static void Reached(WebApplication app) => app.MapFallback(static () => "reached");

    /// <summary>What the web server says is what a reader finds in the document.</summary>
    private static async Task AssertDocumentedAsync(string text, MistakenSite site)
    {
        await site.FindFrontEndLogAsync(text);
        Assert.Contains(text, s_document, StringComparison.Ordinal);
    }
}
