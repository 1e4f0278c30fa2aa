using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What the application learns about a client, with the configurations in <c>docs/identity.md</c>.</summary>
public sealed class IdentityTests
{
    private const string Document = "identity.md";

    [Theory, Values("nginx client certificate", "apache client certificate")]
    public async Task ClientCertificate_WithOrWithoutTls_IsTheClientsOrNull(string block)
    {
        var seen = new List<(X509Certificate2? Certificate, string Scheme, int Port)>();
        await using var site = await DocumentedSite.StartAsync(
            Document,
            block,
            app => app.MapGet("/", async (HttpContext context) =>
            {
                var certificate = await context.Connection.GetClientCertificateAsync();
                seen.Add((certificate, context.Request.Scheme, context.Connection.LocalPort));
            }));
        using var certificate = site.Certificates.CreateClient("Jane Client");
        using var client = site.CreateClient(certificate);
        using var without = site.CreateClient();
        using var response = await client.GetAsync("/");
        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        await without.GetAsync("/");
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        foreach (var name in new[] { "SSL-Client-Cert", "Ssl-Client-Escaped-Cert", "X-ARR-ClientCert", "X-SSL-CERT" })
            request.Headers.Add(name, Convert.ToBase64String(certificate.RawData));
        request.Headers.Add("SSL-Client-Verify", "SUCCESS");
        request.Headers.Host = "localhost:4444";
        await without.SendAsync(request);

        var port = client.BaseAddress!.Port;
        Assert.Equal(
            [(certificate.Thumbprint, "https", port), (null, "https", port), (null, "https", port)],
            seen.Select(static request => (request.Certificate?.Thumbprint, request.Scheme, request.Port)));
        Assert.True(IsTrusted(seen[0].Certificate!, site.Certificates.Authority));
        await AssertIsRefusedAsync(site);
        Assert.Equal(3, seen.Count);
    }

    /// <summary>
    /// nginx passes the name in the header to any location that requests it, without checking it there.
    /// </summary>
    [Theory, Values("nginx user", "apache user")]
    public async Task User_OnlyIfAuthenticatedByTheWebServer_IsTheUser(string block)
    {
        await using var site = await StartWithUsersAsync(block);
        using var client = site.CreateClient();

        Assert.Equal("jane Basic", await GetAsync(client, "/members/", "jane:secret"));
        Assert.Equal("401", await GetAsync(client, "/members/", "jane:wrong"));
        Assert.Equal("401", await GetAsync(client, "/members/", credentials: null));
        Assert.Equal("nobody", await GetAsync(client, "/", credentials: null));
        Assert.Equal("nobody", await GetAsync(client, "/", "root:anything"));
        string[] forged = ["Remote-User", "Auth-Type", "X-Remote-User", "X-Forwarded-User"];
        Assert.Equal("nobody", await GetAsync(client, "/", credentials: null, forged));
    }

    [Theory]
    [InlineData("nginx request id", "REQUEST_ID")]
    [InlineData("apache request id", "UNIQUE_ID")]
    public async Task TraceIdentifier_OfTheWebServer_IsInItsLog(string block, string parameter)
    {
        await using var site = await DocumentedSite.StartAsync(
            Document,
            block,
            static app => app.MapGet("/", static (HttpContext context) => context.TraceIdentifier),
            options => options.TraceIdentifierParameter = parameter);
        using var client = site.CreateClient();
        client.DefaultRequestHeaders.Add("Request-Id", "forged");

        var id = await client.GetStringAsync("/");

        Assert.InRange(id.Length, 20, 40);
        // Web servers write their logs after the response.
        await Waiting.UntilAsync(
            () => site.FrontEndLog.Contains($"200 {id}", StringComparison.Ordinal), $"the id in {site.FrontEndLog}");
    }

    [Theory]
    [InlineData("nginx request id")]
    [InlineData("apache request id")]
    public async Task StandardError_LinesAndLoggedErrors_AreInTheWebServersLog(string block)
    {
        await using var site = await DocumentedSite.StartAsync(
            Document,
            block,
            static app => app.MapGet("/", static (HttpContext context) =>
            {
                context.Features.Get<IFastCgiRequestFeature>()!.StandardError.WriteLine(
                    "The stock is low\n\u001b[2Jforged");
                throw new InvalidOperationException("The shop is closed");
            }),
            configureBuilder: static builder => builder.Logging.AddFastCgiStandardError());
        site.Log.Expected.Add("ApplicationError");
        using var client = site.CreateClient();

        using var response = await client.GetAsync("/");

        Assert.Equal(HttpStatusCode.InternalServerError, response.StatusCode);
        await Waiting.UntilAsync(
            () => site.FrontEndLog is var log && log.Contains("The stock is low", StringComparison.Ordinal)
                && log.Contains(@"x1B[2Jforged", StringComparison.Ordinal)
                && log.Contains("System.InvalidOperationException: The shop is closed", StringComparison.Ordinal),
            "the lines in the log");
        Assert.DoesNotContain('\u001b', site.FrontEndLog);
    }

    /// <summary>nginx reads STDERR records into the one-page buffer for the header block.</summary>
    [Theory]
    [InlineData("nginx request id")]
    [InlineData("apache request id")]
    public async Task StandardError_AnyAmountBeforeTheResponse_DoesNotHarmIt(string block)
    {
        await using var site = await DocumentedSite.StartAsync(
            Document,
            block,
            static app => app.MapGet("/{lines:int}", static (int lines, HttpContext context) =>
            {
                for (var i = 0; i < lines; i++)
                    context.Features.Get<IFastCgiRequestFeature>()!.StandardError.WriteLine($"{i,-100}");
                context.Response.Headers["X-Filler"] = new string('x', 1_000);
                return $"{lines} lines";
            }));
        using var client = site.CreateClient();

        foreach (var lines in Enumerable.Range(0, 60).Append(600))
            Assert.Equal($"{lines} lines", await GetAsync(client, $"/{lines}", credentials: null));
    }

    /// <summary>A certificate of another authority does not reach the application.</summary>
    private static async Task AssertIsRefusedAsync(DocumentedSite site)
    {
        using var others = new Certificates("Another Authority");
        using var certificate = others.CreateClient("Jane Client");
        using var client = site.CreateClient(certificate);
        // nginx returns 400, Apache ends the connection.
        try
        {
            Assert.Equal(HttpStatusCode.BadRequest, (await client.GetAsync("/")).StatusCode);
        }
        catch (HttpRequestException)
        {
        }
    }

    private static Task<DocumentedSite> StartWithUsersAsync(string block) => DocumentedSite.StartAsync(
        Document,
        block,
        static app => app.UseAuthentication().Use(
            static (HttpContext context, RequestDelegate _) => context.Response.WriteAsync(
                context.User.Identity is { IsAuthenticated: true } user
                    ? $"{user.Name} {user.AuthenticationType}"
                    : "nobody")),
        configureBuilder: static builder => builder.Services.AddAuthentication().AddFastCgi());

    /// <returns>The response body, or the status of a refusal.</returns>
    private static async Task<string> GetAsync(
        HttpClient client, string path, string? credentials, params string[] forgedHeaders)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        if (credentials is not null)
            request.Headers.Authorization = new AuthenticationHeaderValue(
                "Basic", Convert.ToBase64String(Encoding.ASCII.GetBytes(credentials)));
        foreach (var header in forgedHeaders)
            request.Headers.Add(header, "root");
        using var response = await client.SendAsync(request);
        return response.IsSuccessStatusCode
            ? await response.Content.ReadAsStringAsync()
            : $"{(int)response.StatusCode}";
    }

    /// <summary>The check that certificate authentication makes.</summary>
    private static bool IsTrusted(X509Certificate2 certificate, X509Certificate2 authority)
    {
        using var chain = new X509Chain();
        chain.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
        chain.ChainPolicy.CustomTrustStore.Add(authority);
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.ApplicationPolicy.Add(new System.Security.Cryptography.Oid("1.3.6.1.5.5.7.3.2"));
        return chain.Build(certificate);
    }
}
