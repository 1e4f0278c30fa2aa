using FastCgi.AspNetCore.FrontEndTests.Doctor;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Behind a web server configured as documented, nothing is logged above Information, and the status has no
/// recommendations.
/// </summary>
public sealed class CorrectSetupTests
{
    // More than 20 connections per second of the server, if each request opened one.
    private const int RequestsOfFullSetup = 400;

    public static IEnumerable<object[]> Setups =>
        from kind in Enum.GetValues<FrontEndKind>()
        from isFull in (bool[])[false, true]
        select (object[])[kind, isFull];

    [RootTheory, MemberData(nameof(Setups))]
    public async Task Setup_AsDocumented_LogsNothing(FrontEndKind kind, bool isFull)
    {
        await using var site = await FaultySite.StartAsync(
            new Fault("nothing", kind)
            {
                UsesTls = isFull,
                Speedup = 3,
                Listener = kind == FrontEndKind.HaProxy ? Listener.Application : Listener.ClosedSocket,
                Application = Configure,
                // Its document adds this on ports other than 80 and 443.
                Right = kind == FrontEndKind.Nginx && !isFull
                    ? [(
                        "include fastcgi_params;",
                        "include fastcgi_params; fastcgi_param HTTP_HOST $host:$server_port;")]
                    : [],
            },
            isWrong: false);

        for (var i = 0; i < (isFull ? RequestsOfFullSetup : 10); i++)
            Assert.Equal("page", await site.Client.GetStringAsync("/page"));
        var body = Content.Create(50_000);
        using var upload = await site.Client.PostAsync("/upload", new ByteArrayContent(body));
        Assert.Equal(Content.Hash(body), await upload.Content.ReadAsStringAsync());
        Assert.Equal("data: 1\n\ndata: 2\n\n", await site.Client.GetStringAsync("/events"));
        await AskWithAuthorizationAsync(site.Client);
        await site.WaitForCheckAsync();

        Assert.Empty(await site.GetRecommendationsAsync());
        Assert.DoesNotContain(site.Log.All, static log => log.Level >= LogLevel.Warning);
    }

    private static void Configure(WebApplication app)
    {
        app.MapGet("/page", static () => "page");
        app.MapPost("/upload", static (HttpRequest request) => Content.HashAsync(request.Body));
        app.MapGet("/events", static async (HttpResponse response) =>
        {
            response.ContentType = "text/event-stream";
            await response.WriteAsync("data: 1\n\n");
            await response.Body.FlushAsync();
            await response.WriteAsync("data: 2\n\n");
        });
        app.MapGet("/secret", static (HttpContext context) =>
        {
            context.Response.Headers.WWWAuthenticate = "Bearer";
            return context.Request.Headers.Authorization.Count > 0 ? Results.Text("secret") : Results.Unauthorized();
        });
    }

    /// <summary>As clients do it: first without, and on 401 with it.</summary>
    private static async Task AskWithAuthorizationAsync(HttpClient client)
    {
        for (var i = 0; i < 5; i++)
        {
            using var challenge = await client.GetAsync("/secret");
            Assert.Equal(HttpStatusCode.Unauthorized, challenge.StatusCode);
            using var request = new HttpRequestMessage(HttpMethod.Get, "/secret")
            {
                Version = client.DefaultRequestVersion,
                VersionPolicy = client.DefaultVersionPolicy,
            };
            request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", "token");
            using var response = await client.SendAsync(request);
            Assert.Equal("secret", await response.Content.ReadAsStringAsync());
        }
    }
}
