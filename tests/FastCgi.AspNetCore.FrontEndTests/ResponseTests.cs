using System.IO.Compression;
using EntityTagHeaderValue = Microsoft.Net.Http.Headers.EntityTagHeaderValue;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>How responses reach the client.</summary>
public sealed class ResponseTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task Status_AnyOfThem_IsKept(FrontEndSetup setup)
    {
        int[] statusCodes = [200, 201, 202, 400, 401, 403, 404, 409, 418, 422, 429, 500, 501, 503];
        var site = await StartAsync(
            setup,
            app => app.MapGet("/{status:int}", (int status) => Results.Text($"this is {status}", statusCode: status)));

        foreach (var statusCode in statusCodes)
        {
            using var response = await site.Client.GetAsync($"/{statusCode}");
            Assert.Equal(statusCode, (int)response.StatusCode);
            Assert.Equal($"this is {statusCode}", await response.Content.ReadAsStringAsync());
        }
    }

    [Theory, EveryFrontEnd]
    public async Task NoContent_HasNoBody(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", Results.NoContent));

        using var response = await site.Client.GetAsync("/");
        using var next = await site.Client.GetAsync("/");

        Assert.Equal(HttpStatusCode.NoContent, response.StatusCode);
        Assert.Empty(await response.Content.ReadAsByteArrayAsync());
        Assert.Equal(HttpStatusCode.NoContent, next.StatusCode);
    }

    [Theory, EveryFrontEnd]
    public async Task NotModified_KeepsTheETagAndHasNoBody(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", () =>
            Results.Bytes("content"u8.ToArray(), "text/plain", entityTag: new EntityTagHeaderValue("\"v1\""))));

        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Add("If-None-Match", "\"v1\"");
        using var response = await site.Client.SendAsync(request);
        using var next = await site.Client.GetAsync("/");

        Assert.Equal(HttpStatusCode.NotModified, response.StatusCode);
        Assert.Equal("\"v1\"", response.Headers.ETag?.Tag);
        Assert.Empty(await response.Content.ReadAsByteArrayAsync());
        Assert.Equal("content", await next.Content.ReadAsStringAsync());
    }

    /// <summary>Over HTTP/2, HAProxy would add a second length, which curl rejects and HttpClient accepts.</summary>
    [Theory, EveryFrontEnd]
    public async Task NotModified_WithALength_IsTakenByCurl(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapMethods("/", ["GET", "HEAD"], (HttpResponse response)
            => (response.StatusCode, response.ContentLength) = (304, 7)));

        Assert.Equal((0, "304"), await site.CurlAsync("/", "-o", "/dev/null", "-w", "%{http_code}"));
        Assert.Equal((0, "304"), await site.CurlAsync("/", "-o", "/dev/null", "-w", "%{http_code}", "-I"));
    }

    [Theory, EveryFrontEnd]
    public async Task Redirect_AnyStatusAndLocation_BothAreKept(FrontEndSetup setup)
    {
        int[] statusCodes = [301, 302, 303, 307, 308];
        string[] locations = ["/elsewhere?a=b", "elsewhere", "https://www.example.test/elsewhere"];
        var site = await StartAsync(
            setup, app => app.MapGet("/{status:int}", (int status, string to, HttpResponse response) =>
            {
                response.StatusCode = status;
                response.Headers.Location = to;
            }));

        foreach (var statusCode in statusCodes)
        {
            foreach (var location in locations)
            {
                using var response = await site.Client.GetAsync($"/{statusCode}?to={Uri.EscapeDataString(location)}");
                Assert.Equal(
                    (statusCode, location), ((int)response.StatusCode, response.Headers.Location?.OriginalString));
            }
        }
    }

    [Theory, EveryFrontEnd]
    public async Task Created_WithLocation_IsNoRedirect(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapPost("/", () => Results.Created("/things/1", "made")));

        using var response = await site.Client.PostAsync("/", content: null);

        Assert.Equal(HttpStatusCode.Created, response.StatusCode);
        Assert.Equal("/things/1", response.Headers.Location?.OriginalString);
        Assert.Equal("\"made\"", await response.Content.ReadAsStringAsync());
    }

    [Theory, EveryFrontEnd]
    public async Task SetCookie_Several_AreKeptApart(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", (HttpResponse response) =>
        {
            response.Cookies.Append("a", "1");
            response.Cookies.Append("b", "2, with a comma", new CookieOptions { HttpOnly = true, Path = "/b" });
            response.Cookies.Append("c", "3", new CookieOptions { Expires = DateTimeOffset.UnixEpoch });
        }));

        using var response = await site.Client.GetAsync("/");

        Assert.Equal(
            [
                "a=1; path=/", "b=2%2C%20with%20a%20comma; path=/b; httponly",
                "c=3; expires=Thu, 01 Jan 1970 00:00:00 GMT; path=/",
            ],
            response.Headers.GetValues("Set-Cookie"));
    }

    [Theory, EveryFrontEnd]
    public async Task Headers_OfTheApplication_ReachTheClient(FrontEndSetup setup)
    {
        var large = new string('x', 6000);
        var site = await StartAsync(setup, app => app.MapGet("/", (HttpResponse response) =>
        {
            response.ContentType = "application/problem+json";
            response.Headers.CacheControl = "no-store";
            response.Headers["X-Dashed-Name"] = "value, with: every \"sign\"";
            response.Headers["X-Repeated"] = new(["one", "two"]);
            response.Headers["X-Large-1"] = large;
            response.Headers["X-Large-2"] = large;
            return response.WriteAsync("{}");
        }));

        using var response = await site.Client.GetAsync("/");

        Assert.Equal("application/problem+json", response.Content.Headers.ContentType?.ToString());
        Assert.True(response.Headers.CacheControl?.NoStore);
        Assert.Equal("value, with: every \"sign\"", Assert.Single(response.Headers.GetValues("X-Dashed-Name")));
        Assert.Equal("one, two", string.Join(", ", response.Headers.GetValues("X-Repeated")));
        Assert.Equal(large, Assert.Single(response.Headers.GetValues("X-Large-1")));
        Assert.Equal(large, Assert.Single(response.Headers.GetValues("X-Large-2")));
        Assert.False(response.Headers.Contains("Status"));
    }

    /// <summary>
    /// Apache compresses what is not encoded, and adds its coding to <c>identity</c>, which event streams have.
    /// </summary>
    [Theory]
    [InlineData("deflate", "DEFLATE", "gzip")]
    [InlineData("brotli", "BROTLI_COMPRESS", "br")]
    public async Task ServerSentEvents_CompressedByApache_HaveOneCoding(string module, string filter, string coding)
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Apache },
            app => app.MapGet(
                "/", static () => TypedResults.ServerSentEvents(Enumerable.Repeat("tick", 3).ToAsyncEnumerable())),
            more: $"LoadModule {module}_module /usr/lib/apache2/modules/mod_{module}.so\nSetOutputFilter {filter}");
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Add("Accept-Encoding", coding);

        using var response = await site.Client.SendAsync(request);

        Assert.Equal(coding, string.Join(", ", response.Content.Headers.ContentEncoding));
        await using var body = await response.Content.ReadAsStreamAsync();
        await using Stream decoded = coding == "gzip"
            ? new GZipStream(body, CompressionMode.Decompress)
            : new BrotliStream(body, CompressionMode.Decompress);
        Assert.Equal("data: tick\n\ndata: tick\n\ndata: tick\n\n", await new StreamReader(decoded).ReadToEndAsync());
    }

    [Theory, EveryFrontEnd]
    public async Task Head_HasTheHeadersOfGetAndNoBody(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapMethods("/", ["GET", "HEAD"], (HttpResponse response) =>
        {
            response.Headers["X-Seen"] = "yes";
            response.ContentLength = 7;
            return response.WriteAsync("content");
        }));

        using var request = new HttpRequestMessage(HttpMethod.Head, "/");
        using var head = await site.Client.SendAsync(request);
        using var get = await site.Client.GetAsync("/");

        Assert.Equal(HttpStatusCode.OK, head.StatusCode);
        Assert.Equal("yes", Assert.Single(head.Headers.GetValues("X-Seen")));
        Assert.Equal(Shortcomings.Has(setup, Ability.ContentLength) ? null : 7, head.Content.Headers.ContentLength);
        Assert.Empty(await head.Content.ReadAsByteArrayAsync());
        Assert.Equal("content", await get.Content.ReadAsStringAsync());
    }

    [Theory]
    [EveryFrontEnd(true)]
    [EveryFrontEnd(false)]
    [EveryFrontEnd(false, StreamsResponses = true)]
    public async Task Download_20MiB_ArrivesWhole(FrontEndSetup setup, bool hasLength)
    {
        var body = Content.Create(Content.LargeLength);
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            response.ContentLength = hasLength ? body.Length : null;
            await response.Body.WriteAsync(body);
        }));

        using var response = await site.Client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead);
        await using var stream = await response.Content.ReadAsStreamAsync();

        // A web server may add a Content-Length to a buffered response.
        if (hasLength && !Shortcomings.Has(setup, Ability.ContentLength))
            Assert.Equal(body.Length, response.Content.Headers.ContentLength);
        Assert.Equal(Content.Hash(body), await Content.HashAsync(stream));
    }
}
