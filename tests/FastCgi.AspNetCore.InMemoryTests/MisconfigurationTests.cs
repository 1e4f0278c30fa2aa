namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A fault that an operator can fix is logged at most once a minute, with its count, its cause and the line that fixes
/// it.
/// </summary>
public class MisconfigurationTests
{
    [Fact]
    public async Task Params_WithoutMethod_400AndTheLineToAdd()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        await AssertReportedOnceAMinuteAsync(frontEnd.Server, "ParametersMissing", async () =>
        {
            var response = await AskAsync(frontEnd, ("PATH_BASE", "/app"), ("HTTP_HOST", "www.example.test"));
            Assert.Equal(400, response.Status);
            Assert.Contains(
                "REQUEST_METHOD is missing or empty. In nginx, add to the location: include fastcgi_params;",
                response.Text,
                StringComparison.Ordinal);
        }, "REQUEST_METHOD", "get a 400", "include fastcgi_params;", "does not inherit");
    }

    [Fact]
    public async Task Params_WithoutPath_ServedAsTheRootAndTheLineToAdd()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Target);

        await AssertReportedOnceAMinuteAsync(frontEnd.Server, "ParametersMissing", async () =>
        {
            Assert.Equal("GET /", (await AskAsync(frontEnd, ("REQUEST_METHOD", "GET"), ("REQUEST_URI", ""))).Text);
        }, "REQUEST_URI", "for /", "include fastcgi_params;");
    }

    [Theory, Values("REQUEST_URI", "SCRIPT_NAME", "PATH_INFO")]
    public async Task Params_WithAPath_NothingIsReported(string name)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Target);

        Assert.Equal("GET /x", (await AskAsync(frontEnd, ("REQUEST_METHOD", "GET"), (name, "/x"))).Text);
        Assert.DoesNotContain(frontEnd.Server.Logs.All, static log => log.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task Host_WithoutPortOnAnUnusualOne_TheLineToAdd()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Host);

        await AssertReportedOnceAMinuteAsync(
            frontEnd.Server, "HostWithoutPort",
            async () => Assert.Equal(
                "www.example.test", (await frontEnd.AskAsync(RecordBytes.Get(more: ("SERVER_PORT", "8080")))).Text),
            "port 8080", "'www.example.test'", "fastcgi_param HTTP_HOST $host:$server_port;",
            "fastcgi_param SERVER_PORT 443;");
    }

    [Theory]
    [InlineData("80", "www.example.test", "www.example.test")]
    [InlineData("443", "www.example.test", "www.example.test")]
    [InlineData("", "www.example.test", "www.example.test")]
    [InlineData("abc", "www.example.test", "www.example.test")]
    [InlineData("abc", "", "www.example.test")]
    [InlineData("0", "", "www.example.test")]
    [InlineData("65536", "", "www.example.test")]
    [InlineData("8080x", "", "www.example.test")]
    [InlineData("65535", "", "www.example.test:65535")]
    [InlineData("8080", "www.example.test:8080", "www.example.test:8080")]
    [InlineData("8080", "www.example.test:80", "www.example.test")]
    [InlineData("8080", "[::1]:8080", "[::1]:8080")]
    [InlineData("8080", "no name", "no name")]
    [InlineData("8080", "user@www.example.test", "user@www.example.test")]
    [InlineData("8080", "www\u0085warn", "www\u0085warn")]
    public async Task Host_AsItShouldBe_NothingIsReported(string port, string host, string expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Host);

        Assert.Equal(expected, (await frontEnd.AskAsync(
            RecordBytes.Get(more: [("SERVER_PORT", port), ("HTTP_HOST", host)]))).Text);
        Assert.DoesNotContain(frontEnd.Server.Logs.All, static log => log.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task Requests_BeyondTheLimit_503AndTheSetting()
    {
        var release = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => release.Task, options => options.Limits.MaxConcurrentRequests = 1);
        var busy = server.Connect();
        busy.Send(RecordBytes.Get());
        var frontEnd = server.Connect();

        await AssertReportedOnceAMinuteAsync(
            server, "RequestsRefused",
            async () => Assert.Equal(503, (await frontEnd.AskAsync()).Status),
            "got a 503", "MaxConcurrentRequests (1) was reached", "FastCgi:Limits:MaxConcurrentRequests",
            "FastCgi:Limits:RequestQueueLimit");

        release.SetResult();
        await busy.ReadResponseAsync();
    }

    [Fact]
    public async Task Headers_ThatAreNotTheApplications_ReportedOnceAMinute()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Do(static context => context.Response.Headers.KeepAlive = "timeout=5"));

        await AssertReportedOnceAMinuteAsync(
            frontEnd.Server, "HeadersDropped",
            async () => await frontEnd.AskAsync(),
            "Keep-Alive", "Remove the code that sets them");
    }

    [Theory]
    [InlineData("PATH_BASE", "/app", "'/app' from the parameter PATH_BASE.")]
    [InlineData("PATH_BASE", "app", "'app' from the parameter PATH_BASE, which must begin with a slash: '/app'.")]
    [InlineData(null, "/app", "'/app' from FastCgi:PathBase.")]
    public async Task PathBase_ThatThePathDoesNotBeginWith_404AndTheLineToAdd(
        string? parameter, string pathBase, string source)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Do(static context => context.Response.StatusCode = 404),
            options => options.PathBase = parameter is null ? "/app" : "");

        await AssertReportedOnceAMinuteAsync(frontEnd.Server, "PathBaseNotMatched", async () =>
        {
            var request = RecordBytes.Get(
                uri: "/application/a%0Ab?token=secret", more: parameter is null ? [] : [(parameter, pathBase)]);
            Assert.Equal(404, (await frontEnd.AskAsync(request)).Status);
        },
        source,
        "/application/a%0Ab) ",
        "fastcgi_param PATH_BASE /app;",
        "SetEnv PATH_BASE /app",
        "FastCgi:PathBase=/app");
    }

    [Theory]
    [InlineData("HTTP_X_FORWARDED_PROTO", "https", "X-Forwarded-Proto")]
    [InlineData("HTTP_X_FORWARDED_PROTO", "http, HTTPS ", "X-Forwarded-Proto")]
    [InlineData("SERVER_PORT", "443", "SERVER_PORT")]
    public async Task Redirect_ToHttpsOfAClientThatSeemsToBeThere_TheLinesToAdd(
        string name, string value, string evidence)
    {
        await using var frontEnd = await TestServer.ConnectAsync(RedirectToHttps);

        await AssertReportedOnceAMinuteAsync(
            frontEnd.Server, "RedirectToHttps",
            async () => Assert.Equal(
                307, (await frontEnd.AskAsync(RecordBytes.Get(more: [("REQUEST_SCHEME", ""), (name, value)]))).Status),
            evidence, "redirect loop", "fastcgi_param HTTPS on;", "set-param REQUEST_SCHEME https");
    }

    [Fact]
    public async Task Body_BeyondTheLimit_413AndTheSetting()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static context => context.Request.Body.CopyToAsync(Stream.Null),
            options => options.Limits.MaxRequestBodySize = 3);

        await AssertReportedOnceAMinuteAsync(
            frontEnd.Server, "RequestBodyTooLarge",
            async () => Assert.Equal(413, (await frontEnd.AskAsync(RecordBytes.Post(1, "/", new byte[4]))).Status),
            "3 bytes", "FastCgi:Limits:MaxRequestBodySize");
    }

    /// <summary>The application set the limit of the endpoint; raising the server's would not help.</summary>
    [Theory]
    [InlineData(4)]
    [InlineData(null)]
    public async Task Body_BeyondTheLimitOfTheEndpoint_NothingIsReported(int? declaredLength)
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context =>
        {
            context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>().MaxRequestBodySize = 3;
            return context.Request.Body.CopyToAsync(Stream.Null);
        });

        Assert.Equal(413, (await frontEnd.AskAsync(RecordBytes.Post(
            1, "/", new byte[4], more: ("CONTENT_LENGTH", declaredLength is null ? "" : "4")))).Status);
        Assert.DoesNotContain(frontEnd.Server.Logs.All, static log => log.Level == LogLevel.Warning);
    }

    [Theory]
    [InlineData(404, "/app/x", "PATH_BASE=/app")]
    [InlineData(404, "//app//x", "PATH_BASE=/app/")]
    [InlineData(404, "/x", "PATH_BASE=/")]
    [InlineData(404, "/x", "PATH_INFO=")]
    [InlineData(307, "/x", "SERVER_PORT=80")]
    [InlineData(307, "/x", "HTTPS=on")]
    // The documented setup behind a load balancer sends the client's port for both schemes.
    [InlineData(307, "/x", "SERVER_PORT=443", "HTTP_X_FORWARDED_PROTO=http")]
    [InlineData(307, "/x", "SERVER_PORT=443", "REQUEST_SCHEME=http")]
    [InlineData(413, "/x", "PATH_INFO=")]
    public async Task Answer_ThatNoMistakeLedTo_NothingIsReported(int status, string uri, params string[] more)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context =>
        {
            context.Response.StatusCode = status;
            context.Response.Headers.Location = "https://www.example.test/x";
        }));

        var request = RecordBytes.Get(
            uri: uri, more: [.. more.Select(static pair => (pair.Split('=')[0], pair.Split('=')[1]))]);
        Assert.Equal(status, (await frontEnd.AskAsync(request)).Status);
        Assert.DoesNotContain(frontEnd.Server.Logs.All, static log => log.Level >= LogLevel.Warning);
    }

    private static Task<WireResponse> AskAsync(FrontEnd frontEnd, params (string Name, string Value)[] parameters)
        => frontEnd.AskAsync(
            RecordBytes.Begin(), RecordBytes.ParamsStream(1, parameters), RecordBytes.Record(RecordBytes.Stdin, 1));

    private static RequestDelegate RedirectToHttps => Apps.Do(static context
        => context.Response.Redirect("https://www.example.test/", permanent: false, preserveMethod: true));

    private static Task Host(HttpContext context)
    {
        _ = context.Request.Headers.Host;
        return context.Response.WriteAsync(context.Request.Host.Value ?? "");
    }

    /// <summary>The usual lines for a container let any client choose who it is.</summary>
    [Fact]
    public async Task ForwardedHeaders_OfAnyClientTaken_TheHeadersAndTheMiddleware()
    {
        await using var frontEnd = await TestServer.ConnectAsync(TrustEverybody);

        await AssertReportedOnceAMinuteAsync(
            frontEnd.Server, "ForwardedHeaderTaken",
            async () => Assert.Equal("203.0.113.9 https evil.example", (await frontEnd.AskAsync(RecordBytes.Get(more:
            [
                ("HTTP_X_FORWARDED_FOR", "203.0.113.9:80"), (
                    "HTTP_X_FORWARDED_PROTO", "https"), ("HTTP_X_FORWARDED_HOST", "evil.example"),
            ]))).Text),
            "the client address (X-Forwarded-For), the scheme (X-Forwarded-Proto), the host (X-Forwarded-Host)",
            "UseForwardedHeaders",
            "Behind a load balancer");
    }

    [Theory]
    [InlineData("address", "HTTP_X_REAL_IP", "203.0.113.9", "the client address (X-Real-IP)")]
    [InlineData(
        "address", "HTTP_FORWARDED", "host=a;for=\"203.0.113.9:80\", for=10.0.0.1", "the client address (Forwarded)")]
    [InlineData("address", "HTTP_X_REAL_IP", "::ffff:203.0.113.9", "the client address (X-Real-IP)")]
    [InlineData("scheme", "HTTP_X_SCHEME", "HTTPS", "the scheme (X-Scheme)")]
    [InlineData("host", "HTTP_FORWARDED", "for=_a; host=evil.example", "the host (Forwarded)")]
    [InlineData("scheme", "HTTP_X_FORWARDED_SSL", "on", "the scheme (X-Forwarded-Ssl)")]
    [InlineData("scheme", "HTTP_FRONT_END_HTTPS", "On", "the scheme (Front-End-Https)")]
    [InlineData("scheme", "HTTP_CF_VISITOR", "{\"scheme\":\"https\"}", "the scheme (Cf-Visitor)")]
    [InlineData("scheme", "HTTP_X_FORWARDED_PORT", "443", "the scheme (X-Forwarded-Port)")]
    [InlineData("address feature", "HTTP_X_REAL_IP", "203.0.113.9", "the client address (X-Real-IP)")]
    [InlineData("scheme feature", "HTTP_X_SCHEME", "https", "the scheme (X-Scheme)")]
    [InlineData("port", "HTTP_X_FORWARDED_HOST", "evil.example", "the host (X-Forwarded-Host)")]
    [InlineData("scheme", "HTTP_DNT", "1", null)]
    // For reasons of the application.
    [InlineData("address", "HTTP_X_REAL_IP", "203.0.113.90", null)]
    [InlineData("scheme", "HTTP_REFERER", "https://www.example.test/", null)]
    [InlineData("host", "HTTP_ORIGIN", "https://evil.example", null)]
    [InlineData("host", "HTTP_HOST", "EVIL.example:80", null)]
    [InlineData("no host", "HTTP_X_EMPTY", "a,, for=", null)]
    // As the web server says.
    [InlineData("address", "REMOTE_ADDR", "203.0.113.9", null)]
    [InlineData("address", "REMOTE_ADDR", "::ffff:203.0.113.9", null)]
    [InlineData("scheme", "HTTPS", "on", null)]
    [InlineData("nothing", "HTTP_X_FORWARDED_FOR", "203.0.113.9", null)]
    public async Task Header_TakenByOtherCode_IsReportedIfItIsWhatTheApplicationBelieves(
        string what, string name, string value, string? report)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            if (what == "address")
                context.Connection.RemoteIpAddress = IPAddress.Parse("203.0.113.9");
            if (what == "scheme")
                context.Request.Scheme = "https";
            if (what == "port")
                context.Request.Host = new HostString("evil.example", 443);
            if (what == "address feature")
                context.Features.Set<IHttpConnectionFeature>(
                    new HttpConnectionFeature { RemoteIpAddress = IPAddress.Parse("203.0.113.9") });
            if (what == "scheme feature")
                context.Features.Set<IHttpRequestFeature>(new HttpRequestFeature { Scheme = "https" });
            if (what == "host")
                context.Request.Host = new HostString("evil.example");
            if (what == "no host")
                context.Request.Headers.Remove("Host");
            return Apps.Hello(context);
        });

        await frontEnd.AskAsync(RecordBytes.Get(more: (name, value)));

        var logs = frontEnd.Server.Logs.All.Where(static log => log.Level >= LogLevel.Warning).Select(
            static log => log.Message);
        if (report is null)
            Assert.Empty(logs);
        else
            Assert.Contains($" {report} ", Assert.Single(logs), StringComparison.Ordinal);
    }

    /// <summary>What the web server took from the load balancer, and what it passes on of the client's chain.</summary>
    [Fact]
    public async Task ForwardedHeaders_ThatSayWhatTheWebServerSays_NothingIsReported()
    {
        await using var frontEnd = await TestServer.ConnectAsync(TrustEverybody);

        var response = await frontEnd.AskAsync(RecordBytes.Get(more:
        [
            ("REMOTE_ADDR", "203.0.113.9"), ("HTTPS", "on"), (
                "HTTP_HOST", "www.example.test:443"), ("HTTP_X_FORWARDED_FOR", "10.0.0.1, 203.0.113.9"),
            ("HTTP_X_FORWARDED_PROTO", "https"), ("HTTP_X_FORWARDED_HOST", "www.example.test"),
        ]));

        Assert.Equal("203.0.113.9 https www.example.test", response.Text);
        Assert.DoesNotContain(frontEnd.Server.Logs.All, static log => log.Level >= LogLevel.Warning);
    }

    private static void TrustEverybody(IApplicationBuilder app)
    {
        var options =
            new ForwardedHeadersOptions { ForwardedHeaders = Microsoft.AspNetCore.HttpOverrides.ForwardedHeaders.All };
        options.KnownProxies.Clear();
        options.KnownIPNetworks.Clear();
        app.UseForwardedHeaders(options).Run(static context => context.Response.WriteAsync(
            $"{context.Connection.RemoteIpAddress} {context.Request.Scheme} {context.Request.Host}"));
    }

    /// <summary>Acts once, twice within a minute, and once after it: the second message counts three.</summary>
    private static async Task AssertReportedOnceAMinuteAsync(
        TestServer server, string eventName, Func<Task> act, params string[] texts)
    {
        List<CollectedLog> Find() => [.. server.Logs.All.Where(log => log.EventName == eventName)];

        await act();
        var first = Assert.Single(Find());
        await act();
        await act();
        Assert.Single(Find());
        server.Clock.Advance(TimeSpan.FromMinutes(1));
        await act();

        Assert.Equal(2, Find().Count);
        Assert.All(Find(), static log => Assert.Equal(LogLevel.Warning, log.Level));
        Assert.Matches(@"\(1 since the last such message\b", first.Message);
        Assert.Matches(@"\(3 since the last such message\b", Find()[1].Message);
        Assert.All(texts, text => Assert.Contains(text, first.Message, StringComparison.Ordinal));
    }
}
