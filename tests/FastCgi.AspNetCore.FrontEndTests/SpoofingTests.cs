using Microsoft.AspNetCore.Http.Extensions;
using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>A hostile client sends headers that look like what the web server says of a request: nothing but the headers shows them.</summary>
public sealed class SpoofingTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private static readonly (string Name, string Value)[] s_headers =
    [
        ("Remote-User", "root"), ("Remote_User", "root"), ("Auth-Type", "Basic"), ("X-Remote-User", "root"), ("X-Forwarded-User", "root"),
        ("X-Forwarded-For", "10.0.0.1"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Port", "1"),
        ("X-Forwarded-Prefix", "/evil"), ("X-Forwarded-Ssl", "on"), ("X-Real-IP", "10.0.0.1"), ("Client-IP", "10.0.0.1"),
        ("Forwarded", "for=10.0.0.1;host=evil.example;proto=https"), ("X-Original-URL", "/admin"), ("X-Rewrite-URL", "/admin"),
        ("X-HTTP-Method-Override", "DELETE"), ("Https", "on"), ("HTTPS", "1"), ("Request-Scheme", "https"), ("Request_Scheme", "https"),
        ("Request-Method", "DELETE"), ("Request-Uri", "/admin"), ("Document-Uri", "/admin"), ("Script-Name", "/path"),
        ("Script_Name", "/path"), ("Path-Info", "/admin"), ("Path-Base", "/path"), ("Query-String", "admin=1"),
        ("Remote-Addr", "10.0.0.1"), ("Remote_Addr", "10.0.0.1"), ("Remote-Port", "1"), ("Server-Addr", "10.0.0.1"), ("Server-Port", "1"),
        ("Server-Name", "evil.example"), ("Server-Protocol", "HTTP/9"), ("Content_Length", "5"), ("Content_Type", "text/evil"),
        ("Proxy", "http://evil.example"), ("SSL-Client-Cert", "TUlJ"), ("SSL-Client-Verify", "SUCCESS"), ("SSL-Protocol", "TLSv1.3"),
        ("X-ARR-ClientCert", "TUlJ"), ("Request-Id", "forged"), ("Unique-Id", "forged"), ("Redirect-Remote-User", "root"),
    ];

    [Theory, EveryFrontEnd]
    public async Task Get_ForgedHeader_ChangesNothingButTheHeaders(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, static app => app.Run(static context => context.Response.WriteAsync(Describe(context))));
        var plain = await GetAsync(site, name: null, "");

        foreach (var (name, value) in s_headers)
            Assert.Equal((name, plain), (name, await GetAsync(site, name, value)));
    }

    /// <summary>Middleware that is left over from a reverse proxy undoes it, which is reported. Caddy sends the headers itself, with what is true.</summary>
    [Theory]
    [InlineData(FrontEndKind.Nginx, "203.0.113.9", 1)]
    [InlineData(FrontEndKind.Caddy, "127.0.0.1", 0)]
    public async Task Get_ForwardedHeadersOfAnybodyAreBelieved_IsReported(FrontEndKind kind, string address, int reports)
    {
        var options = new ForwardedHeadersOptions { ForwardedHeaders = ForwardedHeaders.All };
        options.KnownProxies.Clear();
        options.KnownIPNetworks.Clear();
        var site = await StartAsync(new FrontEndSetup { Kind = kind }, app => app.UseForwardedHeaders(options).Run(static context
            => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress}")));
        site.Client.DefaultRequestHeaders.Add("X-Forwarded-For", "203.0.113.9");
        site.Client.DefaultRequestHeaders.Add("X-Forwarded-Proto", "https");

        Assert.Equal(address, await site.Client.GetStringAsync("/"));
        await Waiting.UntilAsync(
            () => site.Log.All.Count(static log => log is { EventName: "ForwardedHeaderTaken", Level: LogLevel.Warning }) == reports, "the report");
    }

    private static async Task<string> GetAsync(Site site, string? name, string value)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/path?query");
        if (name is not null)
            Assert.True(request.Headers.TryAddWithoutValidation(name, value));
        using var response = await site.Client.SendAsync(request);
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        return await response.Content.ReadAsStringAsync();
    }

    private static string Describe(HttpContext context)
    {
        var request = context.Request;
        var connection = context.Connection;
        object?[] parts =
        [
            request.Method, request.GetEncodedUrl(), request.PathBase, request.Path, request.Protocol, request.ContentLength, request.ContentType,
            connection.RemoteIpAddress, connection.RemotePort > 1, connection.LocalIpAddress, connection.LocalPort,
            connection.ClientCertificate is null, context.GetServerVariable("SSL_PROTOCOL"), context.User.Identity?.IsAuthenticated,
            context.GetServerVariable("HTTPS"), context.GetServerVariable("REMOTE_ADDR"), context.GetServerVariable("REMOTE_USER"),
            context.GetServerVariable("AUTH_TYPE"), context.GetServerVariable("SSL_CLIENT_VERIFY"), request.Headers.ContainsKey("Proxy"),
        ];
        return string.Join(" | ", parts);
    }
}
