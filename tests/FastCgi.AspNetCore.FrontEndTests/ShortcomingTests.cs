namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Shows, where a short test can, that shortcomings exist in the installed versions. Other tests skip web servers with
/// a shortcoming, so they do not show an improvement.
/// </summary>
public sealed class ShortcomingTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // What has not arrived after this time is held back.
    private static readonly TimeSpan s_held = TimeSpan.FromSeconds(1);

    public static TheoryData<FrontEndSetup> OfUploads => [..
        from setup in FrontEndSetup.All
        from buffers in new[] { true, false }
        let chosen = setup with { BuffersRequests = buffers }
        where Shortcomings.Has(chosen, Ability.UploadOfUnknownLength)
            || Shortcomings.Has(chosen, Ability.LargeUploadOfUnknownLength)
        select chosen];

    public static TheoryData<FrontEndSetup> OfHeaders => FindAll(Ability.EarlyHeaders, buffersResponses: false);

    public static TheoryData<FrontEndSetup> OfTargets => FindAll(Ability.TargetThatIsNoText, buffersResponses: true);

    // HAProxy delays small parts by a fraction of a second only.
    public static TheoryData<FrontEndSetup> OfBuffering => [.. FrontEndSetup.All.Where(static setup
        => setup.Kind != FrontEndKind.HaProxy && Shortcomings.Has(setup, Ability.BufferingHeader))];

    [Theory, MemberData(nameof(OfUploads))]
    public async Task Post_OfUnknownLength_IsRejected(FrontEndSetup setup)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            setup, static app => app.MapPost("/", static (HttpRequest request) => Content.HashAsync(request.Body)));
        var body = Content.Create(Content.LargeLength);
        try
        {
            using var response = await site.Client.PostAsync(
                "/", new StreamedContent(stream => stream.WriteAsync(body).AsTask()));
            // HAProxy 3.2 responds with 502 if it notices only while it sends.
            if (setup.Kind != FrontEndKind.HaProxy || response.StatusCode != HttpStatusCode.BadGateway)
                Assert.InRange((int)response.StatusCode, 400, 499);
        }
        catch (HttpRequestException)
        {
            // HAProxy may close the connection before the client has sent everything.
        }
    }

    [Theory, MemberData(nameof(OfHeaders))]
    public async Task Headers_WithoutABody_AreHeldBack(FrontEndSetup setup)
    {
        var next = Waiting.Signal();
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            await response.Body.FlushAsync();
            await next.Task.WaitAsync(Patience);
            await response.WriteAsync("body");
        }));

        var sending = site.Client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead);
        await Task.Delay(s_held);

        Assert.False(sending.IsCompleted);
        next.SetResult();
        using var response = await sending.WaitAsync(Patience);
        Assert.Equal("body", await response.Content.ReadAsStringAsync());
    }

    [Theory, MemberData(nameof(OfBuffering))]
    public async Task Piece_WithTheBufferingHeader_IsHeldBack(FrontEndSetup setup)
    {
        var next = Waiting.Signal();
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            response.Headers["X-Accel-Buffering"] = "no";
            await response.WriteAsync("piece");
            await next.Task.WaitAsync(Patience);
        }));

        var reading = site.Client.GetStreamAsync("/").ContinueWith(
            static stream => stream.Result.ReadExactlyAsync(new byte[5]).AsTask(), TaskScheduler.Default).Unwrap();
        await Task.Delay(s_held);

        Assert.False(reading.IsCompleted);
        next.SetResult();
        await reading.WaitAsync(Patience);
    }

    [Theory, MemberData(nameof(OfTargets))]
    public async Task Target_ThatIsNoText_IsRejected(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, static app => app.MapFallback(static () => "page"));

        using var response = await site.Client.GetAsync("/%FF");

        Assert.Equal(HttpStatusCode.BadRequest, response.StatusCode);
    }

    private static TheoryData<FrontEndSetup> FindAll(Ability ability, bool buffersResponses)
        => [.. FrontEndSetup.All.Select(setup => setup with { BuffersResponses = buffersResponses })
            .Where(setup => Shortcomings.Has(setup, ability))];
}
