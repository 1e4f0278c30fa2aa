namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Files that the web server sends for the application, if the client gets the same response.</summary>
public sealed class SendFileOffloadTests : IDisposable
{
    private const int Length = 1_000;
    private const string Location = "/protected/a%20file.bin";

    private readonly ScratchFolder _folder = new();
    private readonly string _path;

    public SendFileOffloadTests() => _path = _folder.Write("site/a file.bin", Apps.Pattern(Length));

    private string Root => _folder.GetPath("site");

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(true, "whole", "", true)]
    [InlineData(true, "whole", "HTTP_IF_RANGE=\"tag\"|HTTP_RANGE=bytes=1-2", true)]
    [InlineData(false, "whole", "", true)]
    // The application has evaluated the condition. nginx would do it again, with the file's own ETag and date.
    [InlineData(true, "whole", "HTTP_IF_MATCH=\"tag\"", false)]
    [InlineData(true, "whole", "HTTP_IF_NONE_MATCH=\"tag\"", false)]
    [InlineData(true, "whole", "HTTP_IF_MODIFIED_SINCE=\"tag\"", false)]
    [InlineData(true, "whole", "HTTP_IF_UNMODIFIED_SINCE=\"tag\"", false)]
    // nginx would answer 200.
    [InlineData(true, "203", "", false)]
    [InlineData(true, "206", "", false)]
    // nginx drops headers unless the location passes them.
    [InlineData(true, "Vary", "", false)]
    [InlineData(true, "Vary, passed", "", true)]
    [InlineData(true, "header from OnStarting", "", false)]
    [InlineData(false, "Vary", "", true)]
    [InlineData(false, "Content-Encoding br", "", false)]
    [InlineData(false, "Content-Encoding br, passed", "", true)]
    // The headers are final when the file is offloaded. The server still drops what Apache would repeat.
    [InlineData(false, "Content-Encoding identity, passed", "SERVER_SOFTWARE=Apache/2.4.71 (Debian)", true)]
    // This is not the file, or not certainly the whole file.
    [InlineData(true, "no length", "", false)]
    [InlineData(true, "the first half", "", false)]
    [InlineData(true, "the second half", "", false)]
    [InlineData(true, "a byte before", "", false)]
    public async Task Offload_OnlyIfTheClientGetsTheSameResponse(
        bool isNginx, string what, string request, bool isOffloaded)
    {
        var headers = request.Split('|', StringSplitOptions.RemoveEmptyEntries)
            .Select(static pair => pair.Split('=', 2));

        var response = await GetAsync(
            options =>
            {
                Use(options, isNginx);
                if (what.EndsWith(", passed", StringComparison.Ordinal))
                    options.PassedHeaders.Add(what.Split(',', ' ')[0].ToLowerInvariant());
            },
            context => SendAsync(context, what.Split(',')[0]),
            [.. headers.Select(static pair => (pair[0], pair[1]))]);

        Assert.Equal(isOffloaded && isNginx ? Location : null, response["X-Accel-Redirect"]);
        Assert.Equal(isOffloaded && !isNginx ? _path : null, response["X-Sendfile"]);
        Assert.Equal(isOffloaded ? [] : GetBody(what), response.Body);
        Assert.Equal(what is "203" or "206" ? what : "200", response.StatusLine[..3]);
        Assert.Equal("application/x-test", response["Content-Type"]);
        Assert.Equal(what.StartsWith("Vary", StringComparison.Ordinal) ? "Accept" : null, response["Vary"]);
        Assert.Equal(
            what.StartsWith("Content-Encoding br", StringComparison.Ordinal) ? "br" : null,
            response["Content-Encoding"]);
    }

    [Theory]
    [InlineData("bytes=100-199", 100, 100, true)]
    [InlineData("bytes=100-", 100, 900, true)]
    [InlineData("bytes=-100", 900, 100, true)]
    [InlineData("bytes=-5000", 0, 1_000, true)]
    [InlineData("bytes=0-0", 0, 1, true)]
    [InlineData("bytes=900-5000", 900, 100, true)]
    [InlineData("", 100, 100, false)]
    [InlineData("bytes=100-198", 100, 100, false)]
    [InlineData("bytes=100-", 100, 100, false)]
    [InlineData("bytes=-100", 100, 100, false)]
    [InlineData("bytes=100-199,300-399", 100, 100, false)]
    [InlineData("items=100-199", 100, 100, false)]
    [InlineData("nonsense", 100, 100, false)]
    public async Task Offload_Part_OnlyIfTheClientAskedForIt(string range, int offset, int count, bool isOffloaded)
    {
        var response = await GetAsync(
            UseNginx,
            context => SendPartAsync(context, offset, count),
            range.Length == 0 ? [] : [("HTTP_RANGE", range)]);

        Assert.Equal(isOffloaded ? (200, Location, null) : (206, null, $"bytes {offset}-{offset + count - 1}/{Length}"),
            (response.Status, response["X-Accel-Redirect"], response["Content-Range"]));
        Assert.Equal(isOffloaded ? [] : Apps.Pattern(Length)[offset..(offset + count)], response.Body);
    }

    /// <summary>nginx adds Accept-Ranges itself; both add Content-Range.</summary>
    [Theory]
    [InlineData(true, false)]
    [InlineData(true, true)]
    [InlineData(false, false)]
    public async Task Offload_Part_HeadersOfTheRangeAreTheWebServers(bool isNginx, bool isReplaced)
    {
        var response = await GetAsync(
            options => Use(options, isNginx),
            context =>
            {
                if (isReplaced)
                    context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new HeaderDictionary();
                context.Response.ContentType = "application/x-test";
                context.Response.Headers.AcceptRanges = "bytes";
                context.Response.Headers.ETag = "\"tag\"";
                return SendPartAsync(context, 10, 10);
            },
            ("HTTP_RANGE", "bytes=10-19"));

        Assert.NotNull(response[isNginx ? "X-Accel-Redirect" : "X-Sendfile"]);
        Assert.Equal(
            (isNginx ? null : "bytes", null, "\"tag\""),
            (response["Accept-Ranges"], response["Content-Range"], response["ETag"]));
    }

    /// <summary>nginx decodes the location. X-Sendfile has no common encoding: ambiguous names are streamed.</summary>
    [Theory]
    [InlineData("ä.txt", "%C3%A4.txt", false)]
    [InlineData("100%.txt", "100%25.txt", false)]
    [InlineData("a?b#c;d+e&f.txt", "a%3Fb%23c%3Bd%2Be%26f.txt", true)]
    [InlineData("deep/down/..x", "deep/down/..x", true)]
    [InlineData("back\\slash", "back%5Cslash", true)]
    [InlineData("line\r\nSet-Cookie: a=b", "line%0D%0ASet-Cookie%3A%20a%3Db", false)]
    [InlineData("blank ", "blank%20", false)]
    [InlineData("\U0001F600", "%F0%9F%98%80", false)]
    public async Task Offload_AnyName_IsEscapedOrStreamed(string name, string location, bool hasXSendfile)
    {
        var path = _folder.Write("site/" + name, Apps.Pattern(Length));

        var nginx = await GetAsync(UseNginx, context => SendAsync(context, path, Length));
        var other = await GetAsync(
            options => options.AddXSendFile(Root), context => SendAsync(context, path, Length));

        Assert.Equal("/protected/" + location, nginx["X-Accel-Redirect"]);
        Assert.Equal(
            (hasXSendfile ? path : null, hasXSendfile ? 0 : Length), (other["X-Sendfile"], other.Body.Length));
    }

    [Theory]
    [InlineData("site", "/protected", "site/a file.bin", "/protected/a%20file.bin")]
    [InlineData("site/", "/protected/", "site/a file.bin", "/protected/a%20file.bin")]
    [InlineData("site/../site", "/my files/", "site/a file.bin", "/my%20files/a%20file.bin")]
    [InlineData("current", "/protected/", "current/a file.bin", "/protected/a%20file.bin")]
    // Outside the root, or behind a link.
    [InlineData("site", "/protected/", "secret/file", null)]
    [InlineData("site", "/protected/", "site2/file", null)]
    [InlineData("site", "/protected/", "site/../site/a file.bin", null)]
    [InlineData("site", "/protected/", "site/link", null)]
    [InlineData("site", "/protected/", "site/folder/file", null)]
    public async Task Offload_FileOfTheRoot_HasItsLocation(string root, string location, string file, string? expected)
    {
        var outside = _folder.Write("secret/file", Apps.Pattern(Length));
        _folder.Write("site2/file", Apps.Pattern(Length));
        File.CreateSymbolicLink(Root + "/link", outside);
        Directory.CreateSymbolicLink(Root + "/folder", Path.GetDirectoryName(outside)!);
        Directory.CreateSymbolicLink(_folder.GetPath("current"), Root);

        var response = await GetAsync(
            options => options.AddXAccelRedirect($"{_folder.Path}/{root}", location),
            context => SendAsync(context, $"{_folder.Path}/{file}", Length));

        Assert.Equal(expected, response["X-Accel-Redirect"]);
        Assert.Equal(expected is null ? Apps.Pattern(Length) : [], response.Body);
    }

    [Fact]
    public async Task Offload_RootWithinAnother_InnerCounts()
    {
        var path = _folder.Write("site/inner/file", new byte[Length]);

        var response = await GetAsync(
            options =>
            {
                options.AddXAccelRedirect(Root, "/outer/");
                options.AddXAccelRedirect(Root + "/inner", "/inner/");
            },
            context => SendAsync(context, path, Length));

        Assert.Equal("/inner/file", response["X-Accel-Redirect"]);
    }

    [Fact]
    public async Task Offload_Head_HeadersOnly()
    {
        var response = await TestServer.AskAsync(
            Whole, options => UseNginx(options.SendFile), RecordBytes.Get(method: "HEAD"));

        Assert.Equal((null, "1000"), (response["X-Accel-Redirect"], response["Content-Length"]));
    }

    /// <summary>A 200 of an authorizer allows access, and a file that the web server sends is a 200.</summary>
    [Theory]
    [InlineData(200, 500)]
    [InlineData(206, 500)]
    [InlineData(403, 403)]
    public async Task Offload_AuthorizerRequest_IsNever200(int status, int expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            context =>
            {
                context.Response.StatusCode = status;
                return status == 206 ? SendPartAsync(context, 0, 1) : Whole(context);
            },
            options =>
            {
                options.Roles.Add(FastCgiRole.Authorizer);
                options.SendFile.AddXSendFile(Root);
                UseNginx(options.SendFile);
            },
            expects: "ApplicationError");

        frontEnd.Send(
            RecordBytes.Begin(1, role: 2),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", "/", ("HTTP_RANGE", "bytes=0-0"))));

        var response = await frontEnd.ReadResponseAsync(isStatusFirst: true);
        Assert.Equal((expected, null, null), (response.Status, response["X-Sendfile"], response["X-Accel-Redirect"]));
    }

    [Fact]
    public async Task Offload_ThenWrite_Refused()
    {
        var response = await GetAsync(UseNginx, async context =>
        {
            await Whole(context);
            Assert.True(context.Response.HasStarted);
            await Assert.ThrowsAsync<InvalidOperationException>(() => context.Response.WriteAsync("more"));
        });

        Assert.Empty(response.Body);
    }

    /// <summary>Another thread changes the response between the decision and its header block.</summary>
    [Theory, Values("status", "header", "length", "reason")]
    public async Task Change_AfterTheDecision_IsRefused(string change)
    {
        HttpContext? current = null;
        Exception? seen = null;
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(context =>
            {
                current = context;
                return Whole(context);
            }),
            options => UseNginx(options.SendFile),
            services => services.AddSingleton<ILoggerProvider>(new ActingLogs(
                "FileOffloaded", () => seen = Record.Exception(() => Change(current!.Response, change)))));

        var response = await frontEnd.AskAsync();
        Assert.IsType<InvalidOperationException>(seen);
        Assert.Equal(("200 OK", Location, null, "1000"),
            (response.StatusLine, response["X-Accel-Redirect"], response["Vary"], response["Content-Length"]));
    }

    /// <summary>
    /// Another thread changes the response until that is refused. Changes are not locked, so either decision is right,
    /// but the response is whole: a file that the web server sends, or its bytes.
    /// </summary>
    [Theory, Values("status", "header")]
    public async Task Change_DuringTheDecision_ResponseIsWhole(string change)
    {
        const int Enough = 200;
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                var started = Waiting.Signal();
                var changing = Task.Run(() => ChangeUntilRefused(context.Response, change, started));
                await started.Task;
                await Whole(context);
                Assert.True(context.Response.HasStarted);
                await changing;
            },
            options => UseNginx(options.SendFile));

        var offloaded = 0;
        for (var i = 0; i < Enough || (offloaded == 0 && i < 50 * Enough); i++)
        {
            var response = await frontEnd.AskAsync();
            Assert.Equal("1000", response["Content-Length"]);
            if (response["X-Accel-Redirect"] is { } location)
                Assert.Equal((200, Location, 0), (response.Status, location, response.Body.Length));
            else
                Assert.Equal(Apps.Pattern(Length), response.Body);
            offloaded += response.Body.Length == 0 ? 1 : 0;
        }

        Assert.True(offloaded > 0, "The web server was never asked to send the file.");
    }

    private static void ChangeUntilRefused(HttpResponse response, string what, TaskCompletionSource started)
    {
        while (Record.Exception((Action)ChangeAndBack) is null)
            started.TrySetResult();

        void ChangeAndBack()
        {
            Change(response, what);
            response.StatusCode = 200;
            response.Headers.Remove("Vary");
        }
    }

    private static void Change(HttpResponse response, string what)
    {
        Action change = what switch
        {
            "status" => () => response.StatusCode = 404,
            "header" => () => response.Headers.Vary = "Accept",
            "length" => () => response.ContentLength = 5,
            _ => () => response.HttpContext.Features.GetRequiredFeature<IHttpResponseFeature>().ReasonPhrase = "Mine",
        };
        change();
    }

    private void UseNginx(FastCgiSendFileOptions options) => options.AddXAccelRedirect(Root, "/protected/");

    private void Use(FastCgiSendFileOptions options, bool isNginx)
    {
        if (isNginx)
            UseNginx(options);
        else
            options.AddXSendFile(Root);
    }

    private Task Whole(HttpContext context) => SendAsync(context, _path, Length);

    /// <summary>Sends the file in the way that a row of the table names.</summary>
    private async Task SendAsync(HttpContext context, string what)
    {
        var response = context.Response;
        switch (what)
        {
            case "203" or "206":
                response.StatusCode = int.Parse(what, CultureInfo.InvariantCulture);
                break;
            case "Vary":
                response.Headers.Vary = "Accept";
                break;
            case "Content-Encoding br" or "Content-Encoding identity":
                response.Headers.ContentEncoding = what.Split(' ')[1];
                break;
            case "header from OnStarting":
                response.OnStarting(Apps.Do(() => response.Headers["X-Own"] = "value"));
                break;
            case "a byte before":
                response.BodyWriter.Write("<"u8);
                break;
        }

        var (offset, count) = GetPart(what);
        response.ContentType = "application/x-test";
        response.ContentLength = what == "no length" ? null : GetBody(what).Length;
        await response.SendFileAsync(_path, offset, count == Length ? null : count);
    }

    private static (int Offset, int Count) GetPart(string what) => what switch
    {
        "the first half" => (0, Length / 2),
        "the second half" => (Length / 2, Length / 2),
        _ => (0, Length),
    };

    private static byte[] GetBody(string what)
    {
        var (offset, count) = GetPart(what);
        return [.. what == "a byte before" ? "<"u8 : [], .. Apps.Pattern(Length).AsSpan(offset, count)];
    }

    private async Task SendPartAsync(HttpContext context, int offset, int count)
    {
        context.Response.StatusCode = 206;
        context.Response.ContentLength = count;
        context.Response.Headers.ContentRange = $"bytes {offset}-{offset + count - 1}/{Length}";
        await context.Response.SendFileAsync(_path, offset, count);
        Assert.Equal(206, context.Response.StatusCode);
    }

    private static Task SendAsync(HttpContext context, string path, int length)
    {
        context.Response.ContentType = "application/x-test";
        context.Response.ContentLength = length;
        return context.Response.SendFileAsync(path);
    }

    private static Task<WireResponse> GetAsync(
        Action<FastCgiSendFileOptions> configure,
        RequestDelegate application,
        params (string Name, string Value)[] more)
        => TestServer.AskAsync(application, options => configure(options.SendFile), RecordBytes.Get(more: more));
}
