using System.IO.Compression;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>Parts of ASP.NET Core that lean on the server the most.</summary>
public class FrameworkTests
{
    [Theory]
    [Trait("Contract", "J")]
    [Trait("Contract", "T1")]
    [Values(true, false)]
    public async Task MinimalApi_JsonBody_Bound(bool hasLength)
    {
        await using var frontEnd = await StartAsync(
            static app => app.UseRouting().UseEndpoints(static endpoints => endpoints.MapPost("/add", static (Sum sum) => new Sum(sum.A + sum.B, 0))));

        var body = """{"a":1,"b":2}"""u8.ToArray();
        (string, string) length = hasLength ? ("CONTENT_LENGTH", $"{body.Length}") : ("HTTP_TRANSFER_ENCODING", "chunked");
        frontEnd.Send(
            RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/add", ("CONTENT_TYPE", "application/json"), length)),
            RecordBytes.StdinStream(1, body));

        var response = await frontEnd.ReadResponseAsync();
        Assert.Equal((200, """{"a":3,"b":0}"""), (response.Status, response.Text));
    }

    [Theory]
    [Trait("Contract", "E2")]
    [InlineData("/limited", 413)]
    [InlineData("/unlimited", 200)]
    public async Task RequestSizeLimit_OfTheEndpoint_Counts(string path, int status)
    {
        await using var frontEnd = await StartAsync(
            static app => app.UseRouting().UseEndpoints(static endpoints =>
            {
                endpoints.MapPost("/limited", Apps.BodyHash).WithMetadata(new Microsoft.AspNetCore.Mvc.RequestSizeLimitAttribute(10));
                endpoints.MapPost("/unlimited", Apps.BodyHash).WithMetadata(new Microsoft.AspNetCore.Mvc.DisableRequestSizeLimitAttribute());
            }),
            static options => options.Limits.MaxRequestBodySize = 50);
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        Assert.Equal(status, (await frontEnd.AskAsync(RecordBytes.Post(1, path, new byte[100]))).Status);
    }

    [Theory]
    [Trait("Contract", "J")]
    [Values("gzip", "br")]
    public async Task ResponseCompression_Accepted_Compressed(string encoding)
    {
        await using var frontEnd = await StartAsync(static app => app.UseResponseCompression().Run(static async context =>
        {
            context.Response.ContentType = "text/plain";
            for (var i = 0; i < 100; i++)
                await context.Response.WriteAsync("Hello, hello. ");
        }));

        var response = await frontEnd.AskAsync(RecordBytes.Get(more: ("HTTP_ACCEPT_ENCODING", encoding)));
        Assert.Equal(encoding, response["Content-Encoding"]);
        using var body = new MemoryStream(response.Body);
        await using Stream plain = encoding == "br" ? new BrotliStream(body, CompressionMode.Decompress) : new GZipStream(body, CompressionMode.Decompress);
        Assert.Equal(string.Concat(Enumerable.Repeat("Hello, hello. ", 100)), await new StreamReader(plain).ReadToEndAsync());
    }

    [Fact]
    [Trait("Contract", "J")]
    public async Task RequestDecompression_CompressedBody_Decompressed()
    {
        await using var frontEnd = await StartAsync(static app => app.UseRequestDecompression().Run(Apps.BodyHash));
        using var compressed = new MemoryStream();
        await using (var gzip = new GZipStream(compressed, CompressionLevel.Fastest))
            await gzip.WriteAsync(Apps.Pattern(100_000));

        frontEnd.Send(RecordBytes.Post(1, "/", compressed.ToArray(), true, ("HTTP_CONTENT_ENCODING", "gzip")));

        Assert.Equal(Apps.HashOf(Apps.Pattern(100_000)), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory]
    [Trait("Contract", "J")]
    [Trait("Contract", "B9")]
    [Values(true, false)]
    public async Task Exception_HandledByMiddleware_ItsPage(bool isDeveloper)
    {
        await using var frontEnd = await StartAsync(app =>
        {
            if (isDeveloper)
                app.UseDeveloperExceptionPage();
            else
                app.UseExceptionHandler(static handler => handler.Run(static context => context.Response.WriteAsync("handled")));
            app.Run(static context =>
            {
                context.Response.Headers["X-Gone"] = "1";
                context.Response.BodyWriter.Advance(0);
                throw new FormatException("on purpose");
            });
        });
        frontEnd.Server.Logs.Expected.UnionWith(["UnhandledException", ""]);

        var response = await frontEnd.AskAsync();
        Assert.Equal((500, null), (response.Status, response["X-Gone"]));
        Assert.Contains(isDeveloper ? "on purpose" : "handled", response.Text, StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Contract", "J")]
    public async Task StatusCodePages_NotFound_ItsPage()
    {
        await using var frontEnd = await StartAsync(static app => app.UseStatusCodePages());

        var response = await frontEnd.AskAsync(RecordBytes.Get(uri: "/missing"));
        Assert.Equal((404, "Status Code: 404; Not Found"), (response.Status, response.Text.Trim()));
    }

    [Fact]
    [Trait("Contract", "J")]
    public async Task ServerSentEvents_ResultOfAnEndpoint_EventByEvent()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await StartAsync(app => app.UseRouting().UseEndpoints(endpoints =>
            endpoints.MapGet("/events", () => TypedResults.ServerSentEvents(EventsAsync(go.Task)))));

        frontEnd.Send(RecordBytes.Get(uri: "/events"));
        var first = Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);
        while (!first.EndsWith("data: one\n\n", StringComparison.Ordinal))
            first += Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);
        go.SetResult();
        var second = "";
        while (!second.EndsWith("data: two\n\n", StringComparison.Ordinal))
            second += Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);

        Assert.Contains("X-Accel-Buffering: no\r\n", first, StringComparison.Ordinal);
    }

    [Fact]
    [Trait("Contract", "J")]
    public async Task OutputCache_SecondRequest_FromTheCache()
    {
        var count = 0;
        await using var frontEnd = await StartAsync(app => app.UseOutputCache().UseRouting().UseOutputCache().UseEndpoints(endpoints =>
            endpoints.MapGet("/", () => $"{++count}").CacheOutput()));

        for (var i = 0; i < 3; i++)
            Assert.Equal("1", (await frontEnd.AskAsync(RecordBytes.Get(more: ("HTTP_HOST", "www.example.test")))).Text);
    }

    [Theory]
    [Trait("Contract", "T37")]
    [InlineData("192.0.2.7", "192.0.2.7 http")]
    [InlineData("127.0.0.1", "203.0.113.9 https")]
    public async Task ForwardedHeaders_LeftIn_BelievedFromTheLocalMachineOnly(string remoteAddress, string seen)
    {
        var options = new ForwardedHeadersOptions { ForwardedHeaders = Microsoft.AspNetCore.HttpOverrides.ForwardedHeaders.All };
        await using var frontEnd = await StartAsync(app => app.UseForwardedHeaders(options).Run(static context
            => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress} {context.Request.Scheme}")));

        frontEnd.Send(RecordBytes.Get(more: [("REMOTE_ADDR", remoteAddress), ("HTTP_X_FORWARDED_FOR", "203.0.113.9"), ("HTTP_X_FORWARDED_PROTO", "https")]));

        Assert.Equal(seen, (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory]
    [Trait("Contract", "T38")]
    [Trait("Contract", "H13")]
    [InlineData("www.example.test", 200)]
    [InlineData("other.example.test", 400)]
    public async Task HostFiltering_HostOfTheClient_Checked(string host, int status)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.UseHostFiltering().Run(Apps.Hello),
            services: static services => services.AddHostFiltering(static options => options.AllowedHosts = ["www.example.test"]));

        Assert.Equal(status, (await frontEnd.AskAsync(RecordBytes.Get(more: ("HTTP_HOST", host)))).Status);
    }

    [Theory]
    [Trait("Contract", "T39")]
    [Trait("Contract", "H15")]
    [InlineData("on", null, 200, null)]
    [InlineData("", null, 200, null)]
    [InlineData("", "443", 307, "https://www.example.test/page")]
    public async Task HttpsRedirection_SchemeOfTheClient_Decides(string https, string? port, int status, string? location)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.UseHttpsRedirection().Run(Apps.Hello),
            services: services => services.AddHttpsRedirection(options => options.HttpsPort = port is null ? null : int.Parse(port)));

        var response = await frontEnd.AskAsync(RecordBytes.Get(uri: "/page", more: ("HTTPS", https)));
        Assert.Equal((status, location), (response.Status, response["Location"]));
    }

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "T2")]
    public async Task WebSockets_MiddlewareInstalled_NotOffered()
    {
        await using var frontEnd = await StartAsync(static app => app.UseWebSockets().Run(static context
            => context.Response.WriteAsync($"{context.Features.Get<IHttpWebSocketFeature>() is null} {context.WebSockets.IsWebSocketRequest}")));

        Assert.Equal("True False", (await frontEnd.AskAsync(RecordBytes.Get(more: [("HTTP_UPGRADE", "websocket"), ("HTTP_CONNECTION", "Upgrade")]))).Text);
    }

    private static Task<FrontEnd> StartAsync(Action<IApplicationBuilder> pipeline, Action<FastCgiServerOptions>? configure = null)
        => TestServer.ConnectAsync(pipeline, configure, static services => services
            .AddRouting()
            .AddResponseCompression()
            .AddRequestDecompression()
            .AddRequestTimeouts()
            .AddOutputCache());

    private static async IAsyncEnumerable<string> EventsAsync(Task go)
    {
        yield return "one";
        await go;
        yield return "two";
    }

    private sealed record Sum(int A, int B);
}
