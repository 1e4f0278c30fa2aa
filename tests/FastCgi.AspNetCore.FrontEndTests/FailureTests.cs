namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The application fails.</summary>
public sealed class FailureTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // Exit codes of curl.
    private const int CutBody = 18;
    private const int FailureStatus = 22;
    private const int NoAnswer = 52;
    private const int Reset = 56;
    private const int ResetStream = 92;

    [Theory, EveryFrontEnd]
    public async Task Exception_BeforeTheResponseStarted_IsAnEmpty500AndTheNextRequestIsServed(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app =>
        {
            app.MapGet("/fail", (HttpResponse response) =>
            {
                response.Headers["X-Leftover"] = "of the failed response";
                throw new InvalidOperationException("This handler fails.");
            });
            app.MapGet("/", () => "served");
        });
        site.Log.Expected.Add("ApplicationError");

        using var failed = await site.Client.GetAsync("/fail");
        var next = await site.Client.GetStringAsync("/");

        Assert.Equal(HttpStatusCode.InternalServerError, failed.StatusCode);
        Assert.False(failed.Headers.Contains("X-Leftover"));
        Assert.Empty(await failed.Content.ReadAsByteArrayAsync());
        Assert.Equal("served", next);
    }

    [Theory]
    [EveryFrontEnd(true)]
    [EveryFrontEnd(true, StreamsResponses = true)]
    [EveryFrontEnd(false, Needs = [Ability.CutResponse])]
    [EveryFrontEnd(false, Needs = [Ability.CutResponse], StreamsResponses = true)]
    public async Task Exception_AfterTheResponseStarted_ClientSeesThatItIsCut(
        FrontEndSetup setup, bool hasContentLength)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            response.ContentLength = hasContentLength ? 1000 : null;
            await response.WriteAsync("part of it");
            throw new InvalidOperationException("This handler fails.");
        }));
        site.Log.Expected.Add("ApplicationError");

        // Apache cuts a response on a kept connection only after KeepAliveTimeout, and over HTTP/2 never.
        string[] options = setup.Kind == FrontEndKind.Apache ? ["--http1.1", "-H", "Connection: close"] : [];
        var (exitCode, output) = await site.CurlAsync("/", ["--fail", .. options]);

        Assert.True(
            exitCode is CutBody or FailureStatus or NoAnswer or Reset or ResetStream,
            $"curl ended with {exitCode}: {output}");
    }

    /// <summary>How long a client waits for the rest of a response, with the directives in Apache's document.</summary>
    [Theory]
    [InlineData("KeepAliveTimeout 1")]
    [InlineData("KeepAliveTimeout 300\nSetEnv nokeepalive 1")]
    public async Task Exception_OnAKeptConnectionOfApache_ClientSeesThatItIsCut(string directives)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Apache, UsesUnixSocket = true, IsDocumented = true },
            static app => app.MapGet("/", static async (HttpResponse response) =>
            {
                await response.WriteAsync("part of it");
                throw new InvalidOperationException("This handler fails.");
            }),
            more: directives);
        site.Log.Expected.Add("ApplicationError");

        string[] arguments = ["-sS", "--max-time", "60", $"http://{site.FrontEnd.EndPoint}/"];
        var (exitCode, output) = await ExternalProgram.RunAsync("curl", arguments);

        Assert.True(exitCode is CutBody, $"curl ended with {exitCode}: {output}");
    }

    [Theory, EveryFrontEnd]
    public async Task Abort_BeforeTheResponseStarted_ClientSeesAFailure(FrontEndSetup setup)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(setup, app => app.MapGet("/", (HttpContext context) => context.Abort()));

        var (exitCode, output) = await site.CurlAsync("/", "--fail");

        Assert.True(
            exitCode is FailureStatus or NoAnswer or Reset or ResetStream, $"curl ended with {exitCode}: {output}");
    }

    /// <summary>The document contains nginx's log line.</summary>
    [Fact]
    public async Task Failure_InTheMiddleOfAnAnswer_502AndNginxSaysSo()
    {
        const string Line = "upstream sent invalid FastCGI record type: 2";
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
            static app => app.MapGet("/", static (HttpContext context) => context.Abort()));

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await Waiting.UntilAsync(() => site.FrontEnd.Log.Contains(Line, StringComparison.Ordinal), Line);
        Assert.Contains(
            Line,
            await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "troubleshooting.md")),
            StringComparison.Ordinal);
    }
}
