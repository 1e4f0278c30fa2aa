namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The application fails.</summary>
public sealed class FailureTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // Exit codes of curl.
    private const int CutBody = 18;
    private const int FailureStatus = 22;
    private const int TimedOut = 28;
    private const int NoAnswer = 52;
    private const int Reset = 56;
    private const int ResetStream = 92;

    [Theory]
    [EveryFrontEnd(true)]
    [EveryFrontEnd(true, StreamsResponses = true)]
    [EveryFrontEnd(false, Needs = [Ability.CutResponse])]
    [EveryFrontEnd(false, Needs = [Ability.CutResponse], StreamsResponses = true)]
    public async Task Exception_AfterTheResponseStarted_ClientDetectsTheCut(FrontEndSetup setup, bool hasContentLength)
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
    public async Task Exception_OnAKeptConnectionOfApache_ClientDetectsTheCut(string directives)
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

    /// <summary>Over HTTP/2, Apache cuts it or waits, whatever its timeouts, but never completes it.</summary>
    [Theory]
    [InlineData("", "--http2")]
    [InlineData("Timeout 1\nProxyTimeout 1\nKeepAliveTimeout 1\nH2StreamTimeout 1", "--http2")]
    [InlineData("SetEnv ap_trust_cgilike_cl 1", "--http2")]
    [InlineData("KeepAliveTimeout 1", "--http1.1")]
    public async Task Exception_BehindTheFullConfigurationOfApache_IsCutOrWaits(string directives, string protocol)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            new FrontEndSetup
            {
                Kind = FrontEndKind.Apache,
                UsesUnixSocket = true,
                UsesTls = true,
                IsDocumented = true,
            },
            static app => app.MapGet("/", static async (HttpResponse response) =>
            {
                response.ContentLength = 1000;
                await response.WriteAsync("part of it");
                throw new InvalidOperationException("This handler fails.");
            }),
            more: directives);
        site.Log.Expected.Add("ApplicationError");

        var host = $"{FrontEndDocument.HostName}:{site.FrontEnd.EndPoint.Port}";
        string[] options = ["-i", "--max-time", "6", protocol, "--resolve", $"{host}:127.0.0.1"];
        var runs = await Task.WhenAll(Enumerable.Range(0, 6).Select(_ => site.CurlAsync("/", options)));

        int[] expected = protocol == "--http2" ? [ResetStream, TimedOut] : [CutBody];
        Assert.All(runs, run => Assert.True(expected.Contains(run.ExitCode), $"curl ended with {run}"));
        // Otherwise, Apache drops it.
        var isTrusted = directives.Contains("ap_trust");
        Assert.All(runs, run => Assert.Equal(
            isTrusted, run.Output.Contains("content-length: 1000", StringComparison.OrdinalIgnoreCase)));
    }

    /// <summary>Without it, the part looks complete in most of these setups (CutTests).</summary>
    [Theory]
    [InlineData(false, false, false)]
    [InlineData(false, true, false)]
    [InlineData(true, false, false)]
    [InlineData(true, true, false)]
    [InlineData(true, false, true)]
    public async Task Process_IsKilled_ContentLengthRevealsTheCutBehindNginx(bool keeps, bool buffers, bool usesTls)
    {
        var setup = new FrontEndSetup
        {
            Kind = FrontEndKind.Nginx,
            UsesUnixSocket = true,
            KeepsConnections = keeps,
            BuffersResponses = buffers,
            UsesTls = usesTls,
        };
        using var folder = new ScratchFolder();
        if (usesTls)
            await TestCertificates.WriteAsync(folder.Path);
        var program = Path.Combine(AppContext.BaseDirectory, "ApplicationToStart.dll");
        await using var process = ServerProcess.Start(
            "dotnet", [program, "--urls", folder.GetAddress(usesUnixSocket: true)]);
        await WaitForAsync("Application started.");
        var application = new UnixDomainSocketEndPoint(folder.GetPath("app.sock"));
        await using var frontEnd = await FrontEnd.StartAsync(setup, folder.Path, application, "");

        var url = $"{(usesTls ? "https" : "http")}://{frontEnd.EndPoint}/endless/10?length=1000";
        var client = ExternalProgram.RunAsync("curl", ["-sS", "--insecure", "-H", "Connection: close", url]);
        await WaitForAsync("has begun a response.");
        var id = process.Output[process.Output.IndexOf("Process ", StringComparison.Ordinal)..].Split(' ')[1];
        Signal.Send(int.Parse(id, CultureInfo.InvariantCulture), "KILL");
        await process.WaitForExitAsync(Patience);

        var (exitCode, output) = await client.WaitAsync(Patience);
        Assert.True(exitCode is CutBody or ResetStream, $"curl ended with {exitCode}: {output}");

        Task WaitForAsync(string text)
            => Waiting.UntilAsync(() => process.Output.Contains(text), text);
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
    public async Task Failure_DuringResponse_Is502AndLoggedByNginx()
    {
        const string Line = "upstream sent unsupported FastCGI protocol version: 9";
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
            static app => app.MapGet("/", static (HttpContext context) => context.Abort()));

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await Waiting.UntilAsync(() => site.FrontEnd.Log.Contains(Line), Line);
        Assert.Contains(
            Line,
            await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "troubleshooting.md")));
    }
}
