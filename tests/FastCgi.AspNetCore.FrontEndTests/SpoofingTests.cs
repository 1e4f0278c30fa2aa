using Microsoft.AspNetCore.Http.Extensions;
using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// A hostile client sends headers that resemble the web server's parameters. They affect nothing but the request
/// headers.
/// </summary>
public sealed class SpoofingTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private const string Target = "/path?query";
    private const string Host = FrontEndDocument.HostName;
    private const string ForgedHost = Host + ":4444";
    private const string Refused = "refused with 400";

    private static readonly (string Name, string Value)[] s_headers =
    [
        ("Remote-User", "root"), ("Remote_User", "root"), ("Auth-Type", "Basic"), ("X-Remote-User", "root"),
        ("X-Forwarded-User", "root"),
        ("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Port", "1"),
        ("X-Forwarded-Prefix", "/evil"), ("X-Forwarded-Ssl", "on"), ("X-Real-IP", "10.0.0.1"),
        ("Client-IP", "10.0.0.1"),
        ("Forwarded", "for=10.0.0.1;host=evil.example;proto=https"), ("X-Original-URL", "/admin"),
        ("X-Rewrite-URL", "/admin"),
        ("X-HTTP-Method-Override", "DELETE"), ("Https", "on"), ("HTTPS", "1"), ("Request-Scheme", "https"),
        ("Request_Scheme", "https"),
        ("Request-Method", "DELETE"), ("Request-Uri", "/admin"), ("Document-Uri", "/admin"), ("Script-Name", "/path"),
        ("Script_Name", "/path"), ("Path-Info", "/admin"), ("Path-Base", "/path"), ("Query-String", "admin=1"),
        ("Remote-Addr", "10.0.0.1"), ("Remote_Addr", "10.0.0.1"), ("Remote-Port", "1"), ("Server-Addr", "10.0.0.1"),
        ("Server-Port", "1"),
        ("Server-Name", "evil.example"), ("Server-Protocol", "HTTP/9"), ("Content_Length", "5"),
        ("Content_Type", "text/evil"),
        ("Proxy", "http://evil.example"), ("SSL-Client-Cert", "TUlJ"), ("SSL-Client-Verify", "SUCCESS"),
        ("SSL-Protocol", "TLSv1.3"),
        ("X-ARR-ClientCert", "TUlJ"), ("Request-Id", "forged"), ("Unique-Id", "forged"),
        ("Redirect-Remote-User", "root"),
    ];

    // Targets and hosts that name another port or scheme.
    private static readonly (string Target, string Host)[] s_targets =
    [
        (Target, Host), (Target, ForgedHost), (Target, Host + ":443"), (Target, Host + ":80"),
        ($"http://{ForgedHost}{Target}", ForgedHost), ($"https://{ForgedHost}{Target}", ForgedHost),
        ($"https://{ForgedHost}{Target}", Host),
    ];

    /// <summary>The configurations in <c>docs/front-ends</c>.</summary>
    public static TheoryData<FrontEndSetup> Documented => [..
        from kind in Enum.GetValues<FrontEndKind>()
        from heading in new[] { FrontEndDocument.Smallest, FrontEndDocument.Full, FrontEndDocument.BehindBalancer }
        select new FrontEndSetup
        {
            // HAProxy runs in a chroot, so its document uses TCP.
            Kind = kind,
            UsesUnixSocket = kind != FrontEndKind.HaProxy,
            UsesTls = heading == FrontEndDocument.Full,
            IsDocumented = true,
            IsBehindBalancer = heading == FrontEndDocument.BehindBalancer,
        }];

    [Theory, EveryFrontEnd]
    public async Task Get_ForgedHeader_ChangesNothingButTheHeaders(FrontEndSetup setup)
    {
        var site = await StartAsync(
            setup, static app => app.Run(static context => context.Response.WriteAsync(Describe(context))));
        var plain = await GetAsync(site, name: null, "");
        var localAddress = Shortcomings.Has(setup, Ability.LocalAddress) ? "" : "127.0.0.1";
        Assert.StartsWith($"GET | {site.Url}{Target} | ", plain);
        Assert.Contains($" | 127.0.0.1 | True | {localAddress} | {site.FrontEnd.EndPoint.Port} | ", plain);

        foreach (var (name, value) in s_headers)
        {
            var seen = await GetAsync(site, name, value);
            Assert.True(seen == plain || (seen == Refused && RefusesAliases(setup.Kind)), $"{name}: {seen}");
        }
    }

    /// <summary>Absolute targets, ports in Host, and the scheme of HTTP/2, which a web server may refuse.</summary>
    [Theory, MemberData(nameof(Documented))]
    public async Task Get_ForgedTarget_ChangesNothingButTheHost(FrontEndSetup setup)
    {
        // In the others, the port comes from Host, as docs/identity.md says.
        var hasPort = setup.UsesTls || setup.Kind is not (FrontEndKind.Apache or FrontEndKind.Caddy);
        var site = await StartAsync(
            setup, app => app.Run(context => context.Response.WriteAsync(DescribeConnection(context, hasPort))));
        var plain = await GetAsync(site, name: null, "");
        Assert.StartsWith($"[{(setup.UsesTls ? "https" : "http")} ", plain);

        foreach (var scheme in new[] { "http", "https" })
            Assert.Equal(plain, await RawHttp2Client.GetAsync(site, scheme, ForgedHost, Target) ?? plain);
        if (setup.UsesTls)
            return;

        foreach (var (target, host) in s_targets)
        {
            using var client = await site.ConnectAsync();
            await client.SendAsync($"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            var response = await client.ReadToEndAsync();
            var isRefused = target != Target && response.StartsWith("HTTP/1.1 400 ", StringComparison.Ordinal);
            var isPlain = response.Contains(plain);
            Assert.True(isRefused || isPlain, $"{target}, Host {host}: not {plain}, but {response}");
        }
    }

    /// <summary>Both spellings are one parameter, so a client could replace a header of the web server.</summary>
    [Theory, MemberData(nameof(Documented))]
    public async Task Get_HeaderWithUnderscores_DiffersFromHyphens(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, ReturnUser);

        var isPassed = Shortcomings.Has(setup, Ability.HyphensOnly);
        foreach (var name in new[] { "X_Auth_User", "X-Auth_User", "x_auth-user" })
            Assert.Equal((name, isPassed ? "seen: admin" : "seen: "), (name, await GetAsync(site, name, "admin")));
        var isRefused = RefusesAliases(setup.Kind);
        var both = isPassed ? "seen: jane,admin" : "seen: jane";
        Assert.Equal(
            isRefused ? Refused : both, await GetAsync(site, ("X-Auth-User", "jane"), ("X_Auth_User", "admin")));
        // lighttpd passes it, but always with a length, with which the server drops it.
        Assert.Equal(isRefused ? Refused : "seen: ", await GetAsync(site, "Transfer_Encoding", "chunked"));
    }

    /// <summary>What happens with the lines that the pages warn about, and with those that help.</summary>
    [Theory]
    [InlineData(FrontEndKind.Nginx, "underscores_in_headers on;", "jane,admin/")]
    [InlineData(FrontEndKind.Nginx, "underscores_in_headers off;", "jane/")]
    [InlineData(
        FrontEndKind.Nginx,
        "underscores_in_headers on; location /path { include fastcgi_app.conf; fastcgi_param HTTP_X_AUTH_USER ann; "
            + "fastcgi_param AUTH_USER ann; fastcgi_pass app; }",
        "ann/ann")]
    [InlineData(
        FrontEndKind.Lighttpd,
        "server.modules += (\"mod_setenv\")\nsetenv.set-request-header = (\"X-Auth-User\" => \"ann\")\n"
            + "setenv.set-environment = (\"AUTH_USER\" => \"ann\")",
        "ann,admin/ann")]
    public async Task Get_BothSpellings_AreWhatThePagesSay(FrontEndKind kind, string lines, string seen)
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = kind, UsesUnixSocket = true, IsDocumented = kind == FrontEndKind.Lighttpd },
            static app => app.Run(static context => context.Response.WriteAsync(
                $"{context.Request.Headers["X-Auth-User"]}/{context.GetServerVariable("AUTH_USER")}")),
            more: lines);

        (string, string)[] headers =
            [("X-Auth-User", "jane"), ("X_Auth_User", "admin"), ("Auth-User", "admin"), ("Auth_User", "admin")];
        Assert.Equal(RefusesAliases(kind) ? Refused : seen, await GetAsync(site, headers));
    }

    /// <summary>Without the documented line, Caddy before 2.11.4 passes either one, at random.</summary>
    [Fact]
    public async Task Get_HeaderWithUnderscoresBesideCaddys_IsDropped()
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Caddy, UsesUnixSocket = true, IsDocumented = true },
            ReturnUser,
            more: "\trequest_header X-Auth-User jane");

        for (var i = 0; i < 40; i++)
            Assert.Equal("seen: jane", await GetAsync(site, "X_Auth_User", "admin"));
    }

    [Fact]
    public async Task Get_HeaderWithSpecialCharacters_IsRejectedByTheScriptForLighttpd()
    {
        using var folder = new ScratchFolder();
        var text = await DocumentBlock.ReadAsync("security.md", "headers.lua");
        var page = DocumentedFrontEnd.GetDocument(FrontEndKind.Lighttpd);
        string[] headings = [FrontEndDocument.Smallest, FrontEndDocument.Full, FrontEndDocument.BehindBalancer];
        foreach (var heading in headings)
            Assert.Contains(
                "\n#magnet.attract-raw-url-to = (\"/etc/lighttpd/headers.lua\")\n",
                page.GetConfiguration(heading, "80"));
        var script = folder.Write("headers.lua", Encoding.UTF8.GetBytes(text));
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Lighttpd, UsesUnixSocket = true, IsDocumented = true },
            ReturnUser,
            more: $"""
                server.modules += ("mod_magnet")
                magnet.attract-raw-url-to = ("{script}")
                """);

        Assert.Equal("seen: jane", await GetAsync(site, "X-Auth-User", "jane"));
        foreach (var name in new[] { "X_Auth_User", "X.Auth.User", "X!Auth-User" })
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, Target);
            Assert.True(request.Headers.TryAddWithoutValidation(name, "admin"));
            using var response = await site.Client.SendAsync(request);
            Assert.Equal((name, HttpStatusCode.BadRequest), (name, response.StatusCode));
        }
    }

    /// <summary>
    /// Middleware left over from a reverse proxy defeats this protection, which is reported. Caddy sends the headers
    /// itself, with true values.
    /// </summary>
    [Theory]
    [InlineData(FrontEndKind.Nginx, "203.0.113.9", 1)]
    [InlineData(FrontEndKind.Caddy, "127.0.0.1", 0)]
    public async Task Get_ForwardedHeadersTrustedFromAnyone_IsReported(FrontEndKind kind, string address, int reports)
    {
        const string EventName = "ForwardedHeaderTaken";
        var options = new ForwardedHeadersOptions { ForwardedHeaders = ForwardedHeaders.All };
        options.KnownProxies.Clear();
        options.KnownIPNetworks.Clear();
        var site = await StartAsync(
            new FrontEndSetup { Kind = kind },
            app => app.UseForwardedHeaders(options).Run(
                static context => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress}")));
        site.Client.DefaultRequestHeaders.Add("X-Forwarded-For", "203.0.113.9");
        site.Client.DefaultRequestHeaders.Add("X-Forwarded-Proto", "https");

        // Once a minute, and before the next response.
        for (var i = 0; i < 2; i++)
            Assert.Equal(address, await site.Client.GetStringAsync("/"));
        await Waiting.UntilAsync(() => site.Log.Find(LogLevel.Warning, EventName).Count() >= reports, "the report");
        Assert.Equal(reports, site.Log.Find(LogLevel.Warning, EventName).Count());
    }

    private static Task<string> GetAsync(Site site, string? name, string value)
        => GetAsync(site, name is null ? [] : [(name, value)]);

    private static async Task<string> GetAsync(Site site, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, Target);
        foreach (var (name, value) in headers)
            Assert.True(request.Headers.TryAddWithoutValidation(name, value));
        using var response = await site.Client.SendAsync(request);
        if (response.StatusCode == HttpStatusCode.BadRequest)
            return Refused;

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        return await response.Content.ReadAsStringAsync();
    }

    /// <summary>Whether the web server rejects two spellings of a name, and others of names that it knows.</summary>
    private static bool RefusesAliases(FrontEndKind kind)
        => kind == FrontEndKind.Lighttpd && !InstalledVersions.IsBefore(kind, "1.4.83");

    private static void ReturnUser(WebApplication app)
        => app.Run(static context => context.Response.WriteAsync(
            $"seen: {context.Request.Headers["X-Auth-User"]}{context.Request.Headers.TransferEncoding}"));

    private static string DescribeConnection(HttpContext context, bool withPort)
    {
        var (request, connection) = (context.Request, context.Connection);
        var port = withPort ? connection.LocalPort : 0;
        var addresses = $"{connection.RemoteIpAddress} {connection.LocalIpAddress}";
        return $"[{request.Scheme} {request.Path}{request.QueryString} {addresses} {port}]";
    }

    private static string Describe(HttpContext context)
    {
        var request = context.Request;
        var connection = context.Connection;
        object?[] parts =
        [
            request.Method, request.GetEncodedUrl(), request.PathBase, request.Path, request.Protocol,
            request.ContentLength, request.ContentType,
            connection.RemoteIpAddress, connection.RemotePort > 1, connection.LocalIpAddress, connection.LocalPort,
            connection.ClientCertificate is null, context.GetServerVariable("SSL_PROTOCOL"),
            context.User.Identity?.IsAuthenticated,
            context.GetServerVariable("HTTPS"), context.GetServerVariable("REMOTE_ADDR"),
            context.GetServerVariable("REMOTE_USER"),
            context.GetServerVariable("AUTH_TYPE"), context.GetServerVariable("SSL_CLIENT_VERIFY"),
            request.Headers.ContainsKey("Proxy"),
        ];
        return string.Join(" | ", parts);
    }
}
