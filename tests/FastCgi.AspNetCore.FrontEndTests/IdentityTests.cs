using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What the application learns about a client, with the configurations in <c>docs/identity.md</c>.</summary>
public sealed class IdentityTests
{
    private const string Document = "identity.md";

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
        await Waiting.UntilAsync(() => site.FrontEndLog.Contains($"200 {id}"), $"the id in {site.FrontEndLog}");
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
            () => site.FrontEndLog is var log && log.Contains("The stock is low")
                && log.Contains(@"x1B[2Jforged")
                && log.Contains("System.InvalidOperationException: The shop is closed"),
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

    private static Task<ConfiguredSite> StartWithUsersAsync(string block) => DocumentedSite.StartAsync(
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
}
