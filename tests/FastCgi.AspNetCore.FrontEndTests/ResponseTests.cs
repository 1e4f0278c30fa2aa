using System.IO.Compression;
using EntityTagHeaderValue = Microsoft.Net.Http.Headers.EntityTagHeaderValue;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>How responses reach the client.</summary>
public sealed class ResponseTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task Status_AnyOfThem_IsKeptWithItsBody(FrontEndSetup setup)
    {
        int[] statusCodes = [200, 201, 202, 204, 304, 400, 401, 403, 404, 409, 418, 422, 429, 500, 501, 503];
        var site = await StartAsync(setup, app => app.MapGet("/{status:int}", (int status) => status switch
        {
            204 => Results.NoContent(),
            304 => Results.Bytes([1], "text/plain", entityTag: new EntityTagHeaderValue("\"v1\"")),
            _ => Results.Text($"this is {status}", statusCode: status),
        }));

        foreach (var statusCode in statusCodes)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, $"/{statusCode}");
            request.Headers.Add("If-None-Match", "\"v1\"");
            using var response = await site.Client.SendAsync(request);
            Assert.Equal(statusCode, (int)response.StatusCode);
            Assert.Equal(
                statusCode is 204 or 304 ? "" : $"this is {statusCode}", await response.Content.ReadAsStringAsync());
            Assert.Equal(statusCode == 304 ? "\"v1\"" : null, response.Headers.ETag?.Tag);
        }
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
    public async Task Location_WithAnyStatus_IsKept(FrontEndSetup setup)
    {
        int[] statusCodes = [201, 301, 302, 303, 307, 308];
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
    public async Task Headers_OfGetAndHead_ReachTheClientAndOnlyGetHasABody(FrontEndSetup setup)
    {
        var large = new string('x', 6000);
        var site = await StartAsync(setup, app => app.MapMethods("/", ["GET", "HEAD"], (HttpResponse response) =>
        {
            response.ContentType = "application/problem+json";
            response.ContentLength = 7;
            response.Headers.CacheControl = "no-store";
            response.Headers["X-Dashed-Name"] = "value, with: every \"sign\"";
            response.Headers["X-Repeated"] = new(["one", "two"]);
            response.Headers["X-Large-1"] = large;
            response.Headers["X-Large-2"] = large;
            response.Cookies.Append("a", "1");
            response.Cookies.Append("b", "2, with a comma", new CookieOptions { HttpOnly = true, Path = "/b" });
            response.Cookies.Append("c", "3", new CookieOptions { Expires = DateTimeOffset.UnixEpoch });
            return response.WriteAsync("content");
        }));

        foreach (var method in new[] { HttpMethod.Head, HttpMethod.Get })
        {
            using var request = new HttpRequestMessage(method, "/");
            using var response = await site.Client.SendAsync(request);
            Assert.Equal("application/problem+json", response.Content.Headers.ContentType?.ToString());
            Assert.True(response.Headers.CacheControl?.NoStore);
            Assert.Equal("value, with: every \"sign\"", Assert.Single(response.Headers.GetValues("X-Dashed-Name")));
            Assert.Equal("one, two", string.Join(", ", response.Headers.GetValues("X-Repeated")));
            Assert.Equal(large, Assert.Single(response.Headers.GetValues("X-Large-1")));
            Assert.Equal(large, Assert.Single(response.Headers.GetValues("X-Large-2")));
            Assert.Equal(
                [
                    "a=1; path=/", "b=2%2C%20with%20a%20comma; path=/b; httponly",
                    "c=3; expires=Thu, 01 Jan 1970 00:00:00 GMT; path=/",
                ],
                response.Headers.GetValues("Set-Cookie"));
            Assert.False(response.Headers.Contains("Status"));
            if (method == HttpMethod.Head)
                Assert.Equal(
                    Shortcomings.Has(setup, Ability.ContentLength) ? null : 7, response.Content.Headers.ContentLength);
            Assert.Equal(method == HttpMethod.Head ? "" : "content", await response.Content.ReadAsStringAsync());
        }
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
