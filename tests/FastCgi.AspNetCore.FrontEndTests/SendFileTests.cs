using Microsoft.Extensions.FileProviders;
using EntityTag = System.Net.Http.Headers.EntityTagHeaderValue;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Files that a real web server sends for the application, configured as in <c>docs/send-file.md</c>.
/// </summary>
public sealed class SendFileTests : FrontEndTest, IDisposable
{
    private const string Document = "send-file.md";
    private const string DocumentedFolder = "/srv/app/files";
    private const int Length = 300_000;
    private const string PlainName = "a + file?#;.txt";
    private const string OtherName = "100% ä.txt";

    private readonly ScratchFolder _folder = new();
    private readonly byte[] _content = Encoding.ASCII.GetBytes(
        string.Concat(Enumerable.Range(0, Length / 10).Select(static i => $"{i,9};")));

    public SendFileTests(ITestOutputHelper output)
        : base(output)
    {
        var deep = Path.Combine(Files, "deep");
        Directory.CreateDirectory(deep);
        foreach (var path in new[] { Video, Path.Combine(deep, PlainName), Path.Combine(deep, OtherName) })
            File.WriteAllBytes(path, _content);
    }

    public static TheoryData<FrontEndSetup> Setups => new(
        new FrontEndSetup { Kind = FrontEndKind.Nginx },
        new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true, KeepsConnections = true },
        new FrontEndSetup { Kind = FrontEndKind.Lighttpd, UsesUnixSocket = true },
        new FrontEndSetup { Kind = FrontEndKind.Apache, UsesUnixSocket = true, KeepsConnections = true });

    private string Files => Path.Combine(_folder.Path, "files");

    private string Video => Path.Combine(Files, "video.bin");

    public void Dispose() => _folder.Dispose();

    [Theory, MemberData(nameof(Setups))]
    public async Task StaticFile_WholeOrHead_ComesFromTheWebServer(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        using var response = await site.Client.GetAsync("/video.bin");

        Assert.Equal(HttpStatusCode.OK, response.StatusCode);
        Assert.Equal(_content, await response.Content.ReadAsByteArrayAsync());
        Assert.Equal("application/octet-stream", response.Content.Headers.ContentType?.MediaType);
        Assert.Equal(
            File.GetLastWriteTimeUtc(Video),
            response.Content.Headers.LastModified!.Value.UtcDateTime,
            TimeSpan.FromSeconds(1));
        Assert.Equal("bytes", Assert.Single(response.Headers.AcceptRanges));
        Assert.Equal(ApplicationETag, response.Headers.ETag);
        Assert.False(response.Headers.Contains("X-Accel-Redirect") || response.Headers.Contains("X-Sendfile"));
        AssertOffloaded(site, 1);

        using var head = await site.Client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "/video.bin"));
        Assert.Equal(ApplicationETag, head.Headers.ETag);
        Assert.Empty(await head.Content.ReadAsByteArrayAsync());
        Assert.Equal(_content, await site.Client.GetByteArrayAsync("/video.bin"));
    }

    [Theory, MemberData(nameof(Setups))]
    public async Task File_OfAnEndpoint_KeepsTypeNameAndEncoding(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        using var response = await site.Client.GetAsync("/download");

        Assert.Equal(_content, await response.Content.ReadAsByteArrayAsync());
        Assert.Equal("application/x-test", response.Content.Headers.ContentType?.MediaType);
        Assert.Equal("my file.bin", response.Content.Headers.ContentDisposition?.FileName?.Trim('"'));
        Assert.Equal("nosniff", Assert.Single(response.Headers.GetValues("X-Content-Type-Options")));
        Assert.True(response.Headers.Contains("Set-Cookie"));
        AssertOffloaded(site, 1);

        using var compressed = await site.Client.GetAsync("/compressed");
        Assert.Equal("br", Assert.Single(compressed.Content.Headers.ContentEncoding));
        Assert.Equal(_content, await compressed.Content.ReadAsByteArrayAsync());
        AssertOffloaded(site, setup.Kind == FrontEndKind.Apache ? 1 : 2);
    }

    [Theory, MemberData(nameof(Setups))]
    public async Task StaticFile_AnyName_IsFound(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        Assert.Equal(_content, await site.Client.GetByteArrayAsync("/deep/" + Uri.EscapeDataString(PlainName)));
        Assert.Equal(_content, await site.Client.GetByteArrayAsync("/deep/" + Uri.EscapeDataString(OtherName)));
        AssertOffloaded(site, setup.Kind == FrontEndKind.Nginx ? 2 : 1);
    }

    [Theory, MemberData(nameof(Setups))]
    public async Task StaticFile_Range_ReturnsThePart(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        foreach (var path in new[] { "/video.bin", "/download" })
        {
            await AssertRangeAsync(site, path, new RangeHeaderValue(1_000, 1_999), 1_000, 2_000);
            await AssertRangeAsync(site, path, new RangeHeaderValue(250_000, null), 250_000, Length);
            await AssertRangeAsync(site, path, new RangeHeaderValue(null, 500), Length - 500, Length);
            await AssertRangeAsync(site, path, new RangeHeaderValue(299_000, 400_000), 299_000, Length);
        }

        AssertOffloaded(site, 8);
        using var behindTheEnd = await GetAsync(
            site, "/video.bin", request => request.Headers.Range = new RangeHeaderValue(Length, null));
        Assert.Equal(HttpStatusCode.RequestedRangeNotSatisfiable, behindTheEnd.StatusCode);
        AssertOffloaded(site, 8);
    }

    [Theory, MemberData(nameof(Setups))]
    public async Task StaticFile_IfRange_PartOnlyIfUnchanged(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        foreach (var etag in new[] { ApplicationETag, new EntityTag("\"other\"") })
        {
            var status = etag.Equals(ApplicationETag) ? HttpStatusCode.PartialContent : HttpStatusCode.OK;
            using var response = await GetAsync(site, "/video.bin", request =>
            {
                request.Headers.Range = new RangeHeaderValue(10, 19);
                request.Headers.IfRange = new RangeConditionHeaderValue(etag);
            });
            Assert.Equal(status, response.StatusCode);
            Assert.Equal(
                status == HttpStatusCode.OK ? _content : _content[10..20],
                await response.Content.ReadAsByteArrayAsync());
        }

        AssertOffloaded(site, 2);
    }

    [Theory, MemberData(nameof(Setups))]
    public async Task File_WithAnotherStatus_KeepsIt(FrontEndSetup setup)
    {
        var site = await StartAsync(setup);

        using var response = await site.Client.GetAsync("/missing");

        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        Assert.Equal(_content, await response.Content.ReadAsByteArrayAsync());
    }

    [Fact]
    public async Task Nginx_InternalLocation_IsNotForClients()
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(new FrontEndSetup { Kind = FrontEndKind.Nginx });

        using var response = await site.Client.GetAsync("/protected/video.bin");

        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
    }

    private EntityTag ApplicationETag
    {
        get
        {
            // As StaticFileMiddleware makes it.
            var modified = new DateTimeOffset(File.GetLastWriteTimeUtc(Video));
            var seconds = modified.Ticks - (modified.Ticks % TimeSpan.TicksPerSecond);
            return new EntityTag($"\"{new DateTimeOffset(seconds, TimeSpan.Zero).ToFileTime() ^ Length:x}\"");
        }
    }

    private static void AssertOffloaded(Site site, int count)
        => Assert.Equal(count, site.Log.Find(LogLevel.Debug, "FileOffloaded").Count());

    private static async Task<HttpResponseMessage> GetAsync(
        Site site, string path, Action<HttpRequestMessage> configure)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        configure(request);
        return await site.Client.SendAsync(request);
    }

    private async Task AssertRangeAsync(Site site, string path, RangeHeaderValue range, int from, int end)
    {
        using var response = await GetAsync(site, path, request => request.Headers.Range = range);

        Assert.Equal(HttpStatusCode.PartialContent, response.StatusCode);
        Assert.Equal(new ContentRangeHeaderValue(from, end - 1, Length), response.Content.Headers.ContentRange);
        Assert.Equal(_content[from..end], await response.Content.ReadAsByteArrayAsync());
    }

    private async Task<Site> StartAsync(FrontEndSetup setup)
    {
        var (name, preface) = setup.Kind switch
        {
            FrontEndKind.Nginx => ("nginx.conf", ""),
            FrontEndKind.Lighttpd => ("lighttpd.conf", ""),
            _ => ("apache.conf", "LoadModule xsendfile_module /usr/lib/apache2/modules/mod_xsendfile.so\n"),
        };
        var more = preface + await DocumentBlock.ReadAsync(Document, name, (DocumentedFolder, Files)) + "\n";
        return await StartAsync(setup, Configure, options => Configure(options.SendFile, setup.Kind), more: more);
    }

    private void Configure(FastCgiSendFileOptions sendFile, FrontEndKind kind)
    {
        if (kind != FrontEndKind.Nginx)
        {
            sendFile.AddXSendFile(Files);
            if (kind == FrontEndKind.Lighttpd)
                sendFile.PassedHeaders.Add("Content-Encoding");
            return;
        }

        sendFile.AddXAccelRedirect(Files, "/protected/");
        sendFile.PassedHeaders.UnionWith(["Vary", "Content-Encoding", "X-Content-Type-Options"]);
    }

    private void Configure(WebApplication app)
    {
        app.UseStaticFiles(
            new StaticFileOptions
            {
                FileProvider = new PhysicalFileProvider(Files),
                ServeUnknownFileTypes = true,
                DefaultContentType = "application/octet-stream",
            });
        app.MapGet("/download", (HttpResponse response) =>
        {
            response.Headers.XContentTypeOptions = "nosniff";
            response.Cookies.Append("a", "b");
            return Results.File(Video, "application/x-test", "my file.bin", enableRangeProcessing: true);
        });
        app.MapGet("/missing", (HttpResponse response) => SendAsync(response, Video, StatusCodes.Status404NotFound));
        app.MapGet("/compressed", (HttpResponse response) =>
        {
            response.Headers.ContentEncoding = "br";
            response.Headers.Vary = "Accept-Encoding";
            response.ContentType = "text/html";
            return SendAsync(response, Video, StatusCodes.Status200OK);
        });
    }

    private static Task SendAsync(HttpResponse response, string path, int status)
    {
        response.StatusCode = status;
        response.ContentLength = Length;
        return response.SendFileAsync(path);
    }
}
