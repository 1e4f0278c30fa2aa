using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Endpoints that the web server asks before it serves a page, as <c>docs/roles.md</c> shows it.</summary>
public sealed class GuardTests
{
    private const string NginxUrl = "fastcgi_param REQUEST_URI $uri$is_args$args;";
    private const string NginxMethod = "fastcgi_param REQUEST_METHOD GET;";
    private const string NginxBoth = $"{NginxUrl}\n        {NginxMethod}";

    private static readonly AuthenticationHeaderValue s_credentials = new("Bearer", "secret");

    private readonly ConcurrentQueue<string> _calls = [];

    [Theory, Values("nginx guard", "caddy guard")]
    public async Task Request_OfAGuardedPage_IsDecidedByTheGuardAndHandledOnce(string block)
    {
        await using var site = await StartAsync(block);
        using var client = site.CreateClient();

        Assert.Equal("401", await SendAsync(client, HttpMethod.Get, credentials: null, body: null));
        Assert.Equal("401", await SendAsync(client, HttpMethod.Post, credentials: null, "a body"));
        Assert.Equal(["guard of /page?a=b: ", "guard of /page?a=b: "], Take());

        Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Get, s_credentials, body: null));
        Assert.Equal(["guard of /page?a=b: ", "GET ?a=b: "], Take());
        foreach (var body in new[] { "a body", new string('x', 300_000) })
        {
            Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Post, s_credentials, body));
            Assert.Equal(["guard of /page?a=b: ", "POST ?a=b: " + body], Take());
        }

        // A client can forge neither the user that the guard returns nor the URL that it gets.
        string[] names = ["X-User", "X_User", "Remote-User", "Guarded-Uri", "Auth-Type", "X_Forwarded_Uri"];
        for (var i = 0; i < 10; i++)
        {
            Assert.Equal("200 for ann", await SendAsync(client, HttpMethod.Get, s_credentials, body: null, names));
            Assert.Equal(["guard of /page?a=b: ", "GET ?a=b: "], Take());
        }
    }

    /// <summary>nginx passes the URL and method of the guarded request, and Caddy the URL.</summary>
    [Theory]
    [InlineData("nginx guard", NginxUrl, "GET", "200 for nobody", "GET ?a=b: ,GET ?a=b: ")]
    [InlineData("nginx guard", NginxBoth, "POST", "200 for nobody", "POST ?a=b: ,POST ?a=b: body")]
    [InlineData("nginx guard", NginxMethod, "POST", "500", "")]
    [InlineData("caddy guard", "env REQUEST_URI /auth", "GET", "200 for nobody", "GET ?a=b: ,GET ?a=b: ")]
    public async Task Request_WithoutALineOfTheDocument_IsNotGuarded(
        string block, string line, string method, string answer, string calls)
    {
        await using var site = await StartAsync(block, (line, ""));
        using var client = site.CreateClient();
        var body = method == "POST" ? "body" : null;

        Assert.Equal(answer, await SendAsync(client, HttpMethod.Parse(method), credentials: null, body));
        Assert.Equal(calls, string.Join(',', Take()));
    }

    private Task<ConfiguredSite> StartAsync(
        string block, params (string Documented, string Actual)[] replacements) => DocumentedSite.StartAsync(
        "roles.md",
        block,
        app =>
        {
            app.UseAuthentication();
            app.MapGet("/auth", async (HttpContext context) =>
            {
                _calls.Enqueue($"guard of {context.GetServerVariable("GUARDED_URI")}: {await ReadAsync(context)}");
                context.Response.Headers["X-User"] = "ann";
                var isAllowed = context.Request.Headers.Authorization == s_credentials.ToString();
                return isAllowed ? Results.Ok() : Results.Unauthorized();
            });
            app.Map("/page", async (HttpContext context) =>
            {
                _calls.Enqueue($"{context.Request.Method} {context.Request.QueryString}: {await ReadAsync(context)}");
                return $"for {context.User.Identity?.Name ?? "nobody"}";
            });
        },
        configureBuilder: static builder => builder.Services.AddAuthentication().AddFastCgi(),
        replacements: replacements);

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

    /// <returns>The status, and the body of a page.</returns>
    private static async Task<string> SendAsync(
        HttpClient client,
        HttpMethod method,
        AuthenticationHeaderValue? credentials,
        string? body,
        params string[] forged)
    {
        using var request = new HttpRequestMessage(method, "/page?a=b");
        request.Headers.Authorization = credentials;
        request.Content = body is null ? null : new StringContent(body);
        foreach (var name in forged)
            Assert.True(request.Headers.TryAddWithoutValidation(name, "root"));
        using var response = await client.SendAsync(request);
        var status = (int)response.StatusCode;
        return response.IsSuccessStatusCode ? $"{status} {await response.Content.ReadAsStringAsync()}" : $"{status}";
    }
}
