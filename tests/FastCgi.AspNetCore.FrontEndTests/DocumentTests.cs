namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The configurations in <c>docs/front-ends</c> work unchanged.</summary>
public sealed class DocumentTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private readonly TaskCompletionSource _isRead = new();

    public static TheoryData<FrontEndKind> Kinds => [.. Enum.GetValues<FrontEndKind>()];

    [Theory, MemberData(nameof(Kinds))]
    public async Task Minimal_Unchanged_ServesTheApplication(FrontEndKind kind)
    {
        var site = await StartAsync(GetSetup(kind, isFull: false), Configure);

        Assert.Equal("http hello.example.com  /a b ?c=%20 127.0.0.1", await site.Client.GetStringAsync("/a%20b?c=%20"));
        using var redirect = await site.Client.GetAsync("/redirect");
        Assert.Equal(
            (HttpStatusCode.Found, "/elsewhere"), (redirect.StatusCode, redirect.Headers.Location?.OriginalString));
        Assert.False(redirect.Headers.Contains("Status"));
        await AssertUploadAsync(site, 500_000);
        // What applications depend on: authorization, and events that are sent at once.
        site.Client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", "token");
        await AssertPiecesAsync(site, "/events", "data: Bearer token\n\n");
    }

    /// <summary>
    /// Debian's Apache compresses style sheets, and would change their ETags without the application's knowledge.
    /// </summary>
    [Theory]
    [InlineData(false, false, "gzip", "")]
    [InlineData(true, false, "gzip", "")]
    [InlineData(false, true, "gzip", "")]
    [InlineData(
        false,
        false,
        "br",
        "LoadModule brotli_module /usr/lib/apache2/modules/mod_brotli.so\n"
            + "AddOutputFilterByType BROTLI_COMPRESS text/css\nBrotliAlterETag NoChange")]
    public async Task Apache_Unchanged_CompressedResponseIsNotSentAgain(
        bool isFull, bool isBehindBalancer, string coding, string more)
    {
        var site = await StartAsync(
            GetSetup(FrontEndKind.Apache, isFull) with { IsBehindBalancer = isBehindBalancer },
            app => app.MapGet("/", () =>
                Results.Bytes(new byte[5_000], "text/css", entityTag: new("\"v1\""))),
            more: more);
        using var first = await GetAsync("Accept", "*/*");

        using var again = await GetAsync("If-None-Match", first.Headers.ETag!.ToString());
        using var same = await GetAsync("If-Match", first.Headers.ETag.ToString());

        Assert.Equal(coding, Assert.Single(first.Content.Headers.ContentEncoding));
        Assert.Equal((HttpStatusCode.NotModified, first.Headers.ETag), (again.StatusCode, again.Headers.ETag));
        Assert.Equal(HttpStatusCode.OK, same.StatusCode);

        async Task<HttpResponseMessage> GetAsync(string name, string value)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, "/")
            {
                Headers = { { "Accept-Encoding", coding }, { name, value } },
            };
            return await site.Client.SendAsync(request);
        }
    }

    [Theory, MemberData(nameof(Kinds))]
    public async Task Full_Unchanged_ServesEverything(FrontEndKind kind)
    {
        var setup = GetSetup(kind, isFull: true);
        var site = await StartAsync(setup, Configure);

        Assert.Equal("https hello.example.com  /a ?c 127.0.0.1", await site.Client.GetStringAsync("/a?c"));
        Assert.Equal("https hello.example.com /app /a ?c 127.0.0.1", await site.Client.GetStringAsync("/app/a?c"));
        Assert.Equal($"{site.Url}/app/", await site.Client.GetStringAsync("/app/self"));
        await AssertUploadAsync(site, 5_000_000);

        using var request = new HttpRequestMessage(HttpMethod.Get, "/headers");
        request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", "token");
        using var headers = await site.Client.SendAsync(request);
        Assert.Equal("Bearer token", await headers.Content.ReadAsStringAsync());

        using var client = site.CreateClient(TestCertificates.Client);
        Assert.Equal(TestCertificates.Client.GetCertHashString(), await client.GetStringAsync("/certificate"));
        Assert.Equal("none", await site.Client.GetStringAsync("/certificate"));

        await AssertPiecesAsync(site, "/pieces", "first ");
    }

    [Theory, MemberData(nameof(Kinds))]
    public async Task FullConfiguration_CertificateOfAnotherAuthority_DoesNotReachTheApplication(FrontEndKind kind)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(GetSetup(kind, isFull: true), Configure);
        using var others = new Certificates("Another Authority");
        using var certificate = others.CreateClient("Jane Client");
        using var client = site.CreateClient(certificate);

        // nginx returns 400, and most of the others end the connection.
        try
        {
            using var response = await client.GetAsync("/certificate");
            if (response.StatusCode != HttpStatusCode.BadRequest)
                Assert.Equal("none", await response.Content.ReadAsStringAsync());
        }
        catch (HttpRequestException)
        {
        }
    }

    /// <summary>lighttpd has another port anyway, and Caddy redirects by itself.</summary>
    [Theory, Values(FrontEndKind.Nginx, FrontEndKind.Apache, FrontEndKind.HaProxy)]
    public async Task FullConfiguration_HttpRequest_IsRedirected(FrontEndKind kind)
    {
        var site = await StartAsync(GetSetup(kind, isFull: true), Configure);
        var address = new IPEndPoint(IPAddress.Parse(FrontEndDocument.HttpAddress), site.FrontEnd.EndPoint.Port);
        using var client = Site.CreateClient(
            $"http://{FrontEndDocument.HostName}:{address.Port}", address, clientCertificate: null, address: null);

        using var response = await client.GetAsync("/a?c");

        Assert.Equal(HttpStatusCode.MovedPermanently, response.StatusCode);
        Assert.Matches(
            $"^https://{FrontEndDocument.HostName}(:[0-9]+)?/a\\?c$", response.Headers.Location!.OriginalString);
    }

    // HAProxy runs in a chroot, so its document uses TCP.
    private static FrontEndSetup GetSetup(FrontEndKind kind, bool isFull)
        => new() { Kind = kind, UsesUnixSocket = kind != FrontEndKind.HaProxy, UsesTls = isFull, IsDocumented = true };

    private void Configure(WebApplication app)
    {
        app.MapGet("/events", (HttpContext context) =>
        {
            context.Response.ContentType = "text/event-stream";
            return SendPiecesAsync(context.Response, $"data: {context.Request.Headers.Authorization}\n\n");
        });
        app.MapGet("/pieces", (HttpResponse response) => SendPiecesAsync(response, "first "));
        app.MapGet("/redirect", () => Results.Redirect("/elsewhere"));
        app.MapGet("/self", (HttpRequest request) => $"{request.Scheme}://{request.Host}{request.PathBase}/");
        app.MapGet(
            "/certificate",
            (HttpContext context) => context.Connection.ClientCertificate?.GetCertHashString() ?? "none");
        app.MapGet("/headers", (HttpContext context) =>
        {
            context.Response.Headers["X-Large"] = new string('x', 6_000);
            return context.Request.Headers.Authorization.ToString();
        });
        app.MapPost("/upload", (HttpRequest request) => Content.HashAsync(request.Body));
        app.MapFallback((HttpContext context) => string.Join(
            ' ', context.Request.Scheme, context.Request.Host.Host, context.Request.PathBase.Value,
            context.Request.Path.Value, context.Request.QueryString.Value, context.Connection.RemoteIpAddress));
    }

    private async Task SendPiecesAsync(HttpResponse response, string first)
    {
        await response.WriteAsync(first);
        await response.Body.FlushAsync();
        await _isRead.Task.WaitAsync(Patience);
        await response.WriteAsync("second");
    }

    private async Task AssertPiecesAsync(Site site, string path, string first)
    {
        await using var stream = await site.Client.GetStreamAsync(path).WaitAsync(Patience);
        var received = new byte[first.Length];
        await stream.ReadExactlyAsync(received).AsTask().WaitAsync(Patience);
        Assert.Equal(first, Encoding.ASCII.GetString(received));
        _isRead.SetResult();
        using var reader = new StreamReader(stream);
        Assert.Equal("second", await reader.ReadToEndAsync().WaitAsync(Patience));
    }

    private static async Task AssertUploadAsync(Site site, int length)
    {
        var body = Content.Create(length);
        using var response = await site.Client.PostAsync("/upload", new ByteArrayContent(body));
        Assert.Equal(Content.Hash(body), await response.Content.ReadAsStringAsync());
    }
}
