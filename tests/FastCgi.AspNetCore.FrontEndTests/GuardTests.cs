using System.Collections.Concurrent;
using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>An endpoint that guards pages, asked by a subrequest of the web server, with the configurations in <c>docs/roles.md</c>.</summary>
public sealed class GuardTests
{
    private const string NginxTarget = "fastcgi_param REQUEST_URI $uri$is_args$args;";
    private const string NginxMethod = "fastcgi_param REQUEST_METHOD GET;";

    private static readonly AuthenticationHeaderValue s_credentials = new("Bearer", "secret");

    private readonly ConcurrentQueue<string> _calls = [];

    [Theory]
    [InlineData("nginx guard")]
    [InlineData("caddy guard")]
    public async Task Request_OfAGuardedPage_IsDecidedByTheGuardAndHandledOnce(string block)
    {
        await using var site = await StartAsync(block);
        using var client = site.CreateClient();

        Assert.StartsWith("401 ", await SendAsync(client, HttpMethod.Get, credentials: null, body: null), StringComparison.Ordinal);
        Assert.StartsWith("401 ", await SendAsync(client, HttpMethod.Post, credentials: null, "a body"), StringComparison.Ordinal);
        Assert.Equal(["guard of /page?a=b: ", "guard of /page?a=b: "], Take());

        Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Get, s_credentials, body: null));
        Assert.Equal(["guard of /page?a=b: ", "GET ?a=b: "], Take());
        foreach (var body in new[] { "a body", new string('x', 300_000) })
        {
            Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Post, s_credentials, body));
            Assert.Equal(["guard of /page?a=b: ", "POST ?a=b: " + body], Take());
        }
    }

    /// <summary>Nothing that a client sends is what the guard said, or the page that it is asked about.</summary>
    [Theory]
    [InlineData("nginx guard")]
    [InlineData("caddy guard")]
    public async Task Request_WithForgedHeaders_IsStillOfTheGuardsUser(string block)
    {
        await using var site = await StartAsync(block);
        using var client = site.CreateClient();
        string[] names = ["X-User", "X_User", "Remote-User", "Guarded-Uri", "Auth-Type", "X_Forwarded_Uri", "X-Forwarded-Uri"];

        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Get, s_credentials, body: null, names));
            Assert.Equal(["guard of /page?a=b: ", "GET ?a=b: "], Take());
        }
    }

    /// <summary>Why each line is there: nginx passes the target and method of the guarded request, and Caddy its target.</summary>
    [Theory]
    [InlineData("nginx guard", NginxTarget, "GET", "200 for nobody", "GET ?a=b: ,GET ?a=b: ")]
    [InlineData("nginx guard", $"{NginxTarget}\n        {NginxMethod}", "POST", "200 for nobody", "POST ?a=b: ,POST ?a=b: a body")]
    [InlineData("nginx guard", NginxMethod, "POST", "500 ", "")]
    [InlineData("caddy guard", "env REQUEST_URI /auth", "GET", "200 for nobody", "GET ?a=b: ,GET ?a=b: ")]
    public async Task Request_WithoutALineOfTheDocument_IsNotGuarded(string block, string line, string method, string answer, string calls)
    {
        await using var site = await StartAsync(block, (line, ""));
        using var client = site.CreateClient();

        Assert.StartsWith(answer, await SendAsync(client, HttpMethod.Parse(method), credentials: null, method == "POST" ? "a body" : null), StringComparison.Ordinal);
        Assert.Equal(calls, string.Join(',', Take()));
    }

    private Task<DocumentedSite> StartAsync(string block, params (string Documented, string Actual)[] replacements) => DocumentedSite.StartAsync(
        "roles.md",
        block,
        app =>
        {
            app.UseAuthentication();
            app.MapGet("/auth", async (HttpContext context) =>
            {
                _calls.Enqueue($"guard of {context.GetServerVariable("GUARDED_URI")}: {await ReadAsync(context)}");
                context.Response.Headers["X-User"] = "ann";
                return context.Request.Headers.Authorization == s_credentials.ToString() ? Results.Ok() : Results.Unauthorized();
            });
            app.Map("/page", async (HttpContext context) =>
            {
                _calls.Enqueue($"{context.Request.Method} {context.Request.QueryString}: {await ReadAsync(context)}");
                return $"for {context.User.Identity?.Name ?? "nobody"}";
            });
        },
        configureBuilder: static builder => builder.Services.AddAuthentication().AddFastCgi(),
        replacements: replacements);

    /// <summary>Reads as a guard or a page may do that gets no body, or only a part of it.</summary>
    private static async Task<string> ReadAsync(HttpContext context)
    {
        using var reader = new StreamReader(context.Request.Body);
        return await reader.ReadToEndAsync();
    }

    private List<string> Take()
    {
        var calls = _calls.ToList();
        _calls.Clear();
        return calls;
    }

    private static async Task<string> SendAsync(
        HttpClient client, HttpMethod method, AuthenticationHeaderValue? credentials, string? body, params string[] forgedHeaders)
    {
        using var request = new HttpRequestMessage(method, "/page?a=b");
        request.Headers.Authorization = credentials;
        request.Content = body is null ? null : new StringContent(body);
        foreach (var name in forgedHeaders)
            Assert.True(request.Headers.TryAddWithoutValidation(name, "root"));
        using var response = await client.SendAsync(request);
        return $"{(int)response.StatusCode} {await response.Content.ReadAsStringAsync()}";
    }
}
