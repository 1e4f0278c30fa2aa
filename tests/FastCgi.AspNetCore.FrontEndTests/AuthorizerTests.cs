namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// An application that guards a file and another FastCGI application, with the configurations of docs/roles.md. The
/// pages of the other application get the user's name.
/// </summary>
public sealed class AuthorizerTests
{
    private const string Report = "/reports/open.txt";
    private const string ClosedReport = "/reports/closed.txt";
    private const string Page = "/app/page";

    [Fact]
    public async Task Lighttpd_Token_DecidesWhetherFileAndPageAreServed()
    {
        await using var site = await StartLighttpdAsync();
        foreach (var path in new[] { Report, Page })
        {
            using var response = await site.Client.GetAsync(path);
            Assert.Equal(HttpStatusCode.Unauthorized, response.StatusCode);
            Assert.Equal("Bearer", response.Headers.WwwAuthenticate.ToString());
            Assert.Equal("", await response.Content.ReadAsStringAsync());
            Assert.DoesNotContain(
                response.Headers,
                static header => header.Key.StartsWith("Variable-", StringComparison.OrdinalIgnoreCase));
        }

        await AssertServesAsync(site, new AuthenticationHeaderValue("Bearer", "secret"));
    }

    [Fact]
    public async Task ApacheAuthnz_UserAndPath_DecideWhetherFileAndPageAreServed()
    {
        await using var site = await StartApacheAsync();
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(site, Report, user: null));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(site, Report, "ann:wrong"));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(site, Page, "bob:secret"));
        Assert.Equal(HttpStatusCode.Unauthorized, await GetStatusAsync(site, ClosedReport, "ann:secret"));

        await AssertServesAsync(site, Basic("ann:secret"));
    }

    private static async Task AssertServesAsync(ConfiguredSite site, AuthenticationHeaderValue credentials)
    {
        site.Client.DefaultRequestHeaders.Authorization = credentials;
        Assert.Equal("an open report", await site.Client.GetStringAsync(Report));
        Assert.Equal("GET page for ann: ", await site.Client.GetStringAsync(Page));
        using var post = await site.Client.PostAsync(Page, new StringContent("a body"));
        Assert.Equal("POST page for ann: a body", await post.Content.ReadAsStringAsync());
    }

    private static async Task<ConfiguredSite> StartLighttpdAsync()
    {
        var site = new ConfiguredSite();
        var guard = await site.StartApplicationAsync(
            site.GetUnixAddress("guard.sock"),
            app => app.MapFastCgiAuthorizer("/{**path}", static context =>
            {
                context.Response.SetFastCgiVariable("REMOTE_USER", "ann");
                if (context.Request.Headers.Authorization == "Bearer secret")
                    return ValueTask.FromResult(true);

                context.Response.StatusCode = StatusCodes.Status401Unauthorized;
                context.Response.Headers.WWWAuthenticate = "Bearer";
                return ValueTask.FromResult(false);
            }),
            AddAuthorizer);
        var other = await site.StartApplicationAsync(site.GetUnixAddress("app.sock"), MapPage);
        await site.StartServerAsync(
            "roles.md",
            "lighttpd.conf",
            ["lighttpd", "-D", "-f"],
            ("/srv/www/html", WriteReports(site)),
            ("server.port = 8080", $"server.port = {site.Port}"),
            ("/run/guard/guard.sock", $"{guard.EndPoint}"),
            ("/run/app/app.sock", $"{other.EndPoint}"));
        return site;
    }

    private static async Task<ConfiguredSite> StartApacheAsync()
    {
        var site = new ConfiguredSite();
        var guard = await site.StartApplicationAsync(
            "fastcgi://127.0.0.1:0",
            app => app.MapFastCgiAuthorizer("/{**path}", static context =>
            {
                var user = context.GetServerVariable("REMOTE_USER");
                return ValueTask.FromResult(context.GetServerVariable("FCGI_APACHE_ROLE") == "AUTHENTICATOR"
                    ? user == "ann" && context.GetServerVariable("REMOTE_PASSWD") == "secret"
                    : user == "ann" && context.Request.Path != ClosedReport);
            }),
            AddAuthorizer);
        var other = await site.StartApplicationAsync("fastcgi://127.0.0.1:0", MapPage);
        var text = await DocumentBlock.ReadFileAsync(
            "samples/Authorizer/apache-authnz.conf",
            ("127.0.0.1:8080", site.Address),
            ("/srv/www/html", WriteReports(site)),
            ("/run/apache2", site.Folder),
            ("127.0.0.1:9000", $"{guard.EndPoint}"),
            ("127.0.0.1:9001", $"{other.EndPoint}"));
        await site.StartServerAsync("apache-authnz.conf", text, ["apache2", "-D", "FOREGROUND", "-f"]);
        return site;
    }

    private static void AddAuthorizer(FastCgiServerOptions options) => options.Roles.Add(FastCgiRole.Authorizer);

    private static void MapPage(WebApplication app) => app.Map(Page, static async (HttpContext context) =>
    {
        using var reader = new StreamReader(context.Request.Body);
        return $"{context.Request.Method} page for {context.GetServerVariable("REMOTE_USER")}: "
            + $"{await reader.ReadToEndAsync()}";
    });

    private static string WriteReports(ConfiguredSite site)
    {
        var root = Path.Combine(site.Folder, "html");
        Directory.CreateDirectory(root + "/reports");
        File.WriteAllText(root + Report, "an open report");
        File.WriteAllText(root + ClosedReport, "a closed report");
        return root;
    }

    private static async Task<HttpStatusCode> GetStatusAsync(ConfiguredSite site, string path, string? user)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        request.Headers.Authorization = user is null ? null : Basic(user);
        using var response = await site.Client.SendAsync(request);
        return response.StatusCode;
    }

    private static AuthenticationHeaderValue Basic(string user)
        => new("Basic", Convert.ToBase64String(Encoding.ASCII.GetBytes(user)));
}
