namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Request bodies.</summary>
public sealed class UploadTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // Exit codes of curl.
    private const int SendFailure = 55;

    [Theory]
    [EveryFrontEnd(0)]
    [EveryFrontEnd(1)]
    [EveryFrontEnd(100 * 1024)]
    [EveryFrontEnd(Content.LargeLength)]
    [EveryFrontEnd(Content.LargeLength, Kinds = [FrontEndKind.Nginx, FrontEndKind.Lighttpd], StreamsRequests = true)]
    public async Task Post_OfLength_ArrivesWhole(FrontEndSetup setup, int length)
    {
        var site = await StartAsync(setup, app => app.MapPost("/", HashAsync));
        var body = Content.Create(length);

        using var request = new HttpRequestMessage(HttpMethod.Post, "/")
        {
            Content = new ByteArrayContent(body),
            Version = site.Client.DefaultRequestVersion,
            VersionPolicy = site.Client.DefaultVersionPolicy,
        };
        // HAProxy resets an HTTP/2 stream whose response is complete before it has seen the end of the request. .NET
        // treats this as an error.
        if (setup.Kind == FrontEndKind.HaProxy && length == 0)
            (request.Version, request.VersionPolicy) = (HttpVersion.Version11, HttpVersionPolicy.RequestVersionExact);
        using var response = await site.Client.SendAsync(request);

        Assert.Equal($"{length} {Content.Hash(body)}", await response.Content.ReadAsStringAsync());
    }

    [Theory]
    [EveryFrontEnd(0, Needs = [Ability.UploadOfUnknownLength])]
    [EveryFrontEnd(1, Needs = [Ability.UploadOfUnknownLength])]
    [EveryFrontEnd(Content.LargeLength, Needs = [Ability.UploadOfUnknownLength, Ability.LargeUploadOfUnknownLength])]
    [EveryFrontEnd(0, StreamsRequests = true, Kinds = [FrontEndKind.Nginx])]
    [EveryFrontEnd(1, StreamsRequests = true, Kinds = [FrontEndKind.Nginx])]
    [EveryFrontEnd(Content.LargeLength, StreamsRequests = true, Kinds = [FrontEndKind.Nginx])]
    public async Task Post_Chunked_ArrivesWhole(FrontEndSetup setup, int length)
    {
        var site = await StartAsync(setup, app => app.MapPost("/", HashAsync));
        var body = Content.Create(length);

        using var response = await site.Client.PostAsync(
            "/", new StreamedContent(stream => stream.WriteAsync(body).AsTask()));

        var lengthAndHash = (await response.Content.ReadAsStringAsync()).Split(' ');
        Assert.Equal(Content.Hash(body), lengthAndHash[^1]);
    }

    [
        Theory,
        EveryFrontEnd(StreamsRequests = true, Needs = [Ability.SmallPieces, Ability.UploadOfUnknownLength]),
    ]
    public async Task Post_SentInPieces_EachIsReadBeforeTheNextIsSent(FrontEndSetup setup)
    {
        var firstIsRead = new TaskCompletionSource();
        var site = await StartAsync(setup, app => app.MapPost("/", async (HttpRequest request) =>
        {
            var first = new byte[5];
            await request.Body.ReadExactlyAsync(first);
            firstIsRead.SetResult();
            using var reader = new StreamReader(request.Body);
            return Encoding.ASCII.GetString(first) + "|" + await reader.ReadToEndAsync();
        }));

        using var content = new StreamedContent(async stream =>
        {
            await stream.WriteAsync("first"u8.ToArray());
            await stream.FlushAsync();
            await firstIsRead.Task.WaitAsync(Patience);
            await stream.WriteAsync("second"u8.ToArray());
        });
        using var response = await site.Client.PostAsync("/", content);

        Assert.Equal("first|second", await response.Content.ReadAsStringAsync());
    }

    // With a small buffer, the server has stopped receiving when the application responds.
    [Theory]
    [EveryFrontEnd(1, StreamsRequests = true, Needs = [Ability.EarlyAnswer])]
    [EveryFrontEnd(1024 * 1024, StreamsRequests = true, Needs = [Ability.EarlyAnswer])]
    [EveryFrontEnd(1, Kinds = [FrontEndKind.Nginx, FrontEndKind.Lighttpd])]
    public async Task Post_AnsweredWithoutReadingTheBody_AnswerArrivesAndTheNextRequestIsServed(
        FrontEndSetup setup, int bufferSize)
    {
        var site = await StartAsync(
            setup,
            app => app.MapFallback(() => "enough"),
            options => options.Limits.MaxRequestBufferSize = bufferSize);
        var upload = Path.Combine(site.Folder.Path, "upload");
        await File.WriteAllBytesAsync(upload, Content.Create(Content.LargeLength));

        // Over HTTP/2, curl treats the request to stop as an error.
        var post = await site.CurlAsync("/", "--http1.1", "-H", "Expect:", "--data-binary", "@" + upload);
        var get = await site.CurlAsync("/");

        // lighttpd closes the connection after the response, and a client that is still sending may or may not notice.
        // With TLS, it may not even read the response: a reset while it sends discards what it has not decrypted.
        if (setup.Kind == FrontEndKind.Lighttpd && post.ExitCode == SendFailure)
            Assert.StartsWith(
                setup.UsesTls && !post.Output.StartsWith("enough", StringComparison.Ordinal) ? "curl: (55)" : "enough",
                post.Output);
        else
            Assert.Equal((0, "enough"), post);
        Assert.Equal((0, "enough"), get);
    }

    private static async Task<string> HashAsync(HttpRequest request)
        => $"{request.ContentLength} {await Content.HashAsync(request.Body)}";
}
