using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A fault that an operator can fix is logged at most once a minute, with its count, its cause and the line that fixes
/// it.
/// </summary>
public class MisconfigurationTests
{
    private static readonly Dictionary<string, Fault> s_faults = new()
    {
        ["no method"] = new(
            "ParametersMissing", Apps.Hello, Request(("PATH_BASE", "/app"), ("HTTP_HOST", "www.example.test")),
            400, "REQUEST_METHOD is missing or empty. In nginx, add to the location: include fastcgi_params;",
            "REQUEST_METHOD", "get a 400", "include fastcgi_params;", "does not inherit"),
        ["no path"] = new(
            "ParametersMissing", Apps.Target, Request(("REQUEST_METHOD", "GET"), ("REQUEST_URI", "")),
            200, "GET /",
            "REQUEST_URI", "for /", "include fastcgi_params;"),
        ["no port in the host"] = new(
            "HostWithoutPort", Host, Get("/", ("SERVER_PORT", "8080")),
            200, "www.example.test",
            "port 8080", "'www.example.test'", "fastcgi_param HTTP_HOST $host:$server_port;",
            "fastcgi_param SERVER_PORT 443;"),
        ["a header of the connection"] = new(
            "HeadersDropped", Apps.Do(static context => context.Response.Headers.KeepAlive = "timeout=5"), Get("/"),
            200, "",
            "Keep-Alive", "Remove the code that sets them"),
        ["a path base that does not match"] = new(
            "PathBaseNotMatched", Answer(404), Get("/application/a%0Ab?token=secret", ("PATH_BASE", "/app")),
            404, "",
            "'/app' from the parameter PATH_BASE.", "/application/a%0Ab) ", "fastcgi_param PATH_BASE /app;",
            "SetEnv PATH_BASE /app", "FastCgi:PathBase=/app"),
        ["a path base without a slash"] = new(
            "PathBaseNotMatched", Answer(404), Get("/application", ("PATH_BASE", "app")),
            404, "",
            "'app' from the parameter PATH_BASE, which must begin with a slash: '/app'."),
        ["a path base that does not match a target without a path"] = new(
            "PathBaseNotMatched", Answer(404),
            Request(("REQUEST_METHOD", "CONNECT"), ("REQUEST_URI", "?token=secret"), ("PATH_BASE", "/app")),
            404, "",
            "most recently for )"),
        ["a path base of the options that does not match"] = new(
            "PathBaseNotMatched", Answer(404), Get("/application"),
            404, "",
            "'/app' from FastCgi:PathBase.")
        { PathBase = "/app" },
        ["a redirect to HTTPS of a client that the load balancer says is there"] = new(
            "RedirectToHttps", Answer(307), Get("/", ("REQUEST_SCHEME", ""), ("HTTP_X_FORWARDED_PROTO", "https")),
            307, "",
            "X-Forwarded-Proto", "redirect loop", "fastcgi_param HTTPS on;", "set-param REQUEST_SCHEME https"),
        ["a redirect to HTTPS of a client that several headers say is there"] = new(
            "RedirectToHttps", Answer(307),
            Get("/", ("REQUEST_SCHEME", ""), ("HTTP_X_FORWARDED_PROTO", "http, HTTPS ")),
            307, "",
            "X-Forwarded-Proto"),
        ["a redirect to HTTPS on the port of HTTPS"] = new(
            "RedirectToHttps", Answer(307), Get("/", ("REQUEST_SCHEME", ""), ("SERVER_PORT", "443")),
            307, "",
            "SERVER_PORT"),
        ["a body that is too large"] = new(
            "RequestBodyTooLarge", static context => context.Request.Body.CopyToAsync(Stream.Null),
            RecordBytes.Post(1, "/", new byte[4]),
            413, "",
            "3 bytes", "FastCgi:Limits:MaxRequestBodySize"),
        // The usual lines for a container let any client choose who it is.
        ["forwarded headers of any client"] = new(
            "ForwardedHeaderTaken", Identity,
            Get("/", ("HTTP_X_FORWARDED_FOR", "203.0.113.9:80"), ("HTTP_X_FORWARDED_PROTO", "https"),
                ("HTTP_X_FORWARDED_HOST", "evil.example")),
            200, "203.0.113.9 https evil.example",
            "the client address (X-Forwarded-For), the scheme (X-Forwarded-Proto), the host (X-Forwarded-Host)",
            "UseForwardedHeaders", "Behind a load balancer")
        { TrustsEverybody = true },
    };

    private static readonly Dictionary<string, Fault> s_right = new()
    {
        ["REQUEST_URI"] = new(
            "", Apps.Target, Request(("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/x")), 200, "GET /x"),
        ["SCRIPT_NAME"] = new(
            "", Apps.Target, Request(("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", "/x")), 200, "GET /x"),
        ["PATH_INFO"] = new("", Apps.Target, Request(("REQUEST_METHOD", "GET"), ("PATH_INFO", "/x")), 200, "GET /x"),
        ["path base that matches"] = new("", Answer(404), Get("/app/x", ("PATH_BASE", "/app")), 404, ""),
        ["path base with slashes"] = new("", Answer(404), Get("//app//x", ("PATH_BASE", "/app/")), 404, ""),
        ["path base of the root"] = new("", Answer(404), Get("/x", ("PATH_BASE", "/")), 404, ""),
        ["no path base"] = new("", Answer(404), Get("/x", ("PATH_INFO", "")), 404, ""),
        ["413 of the application"] = new("", Answer(413), Get("/x", ("PATH_INFO", "")), 413, ""),
        ["redirect from HTTP"] = new("", Answer(307), Get("/x", ("SERVER_PORT", "80")), 307, ""),
        ["redirect on HTTPS"] = new("", Answer(307), Get("/x", ("HTTPS", "on")), 307, ""),
        // The documented setup behind a load balancer sends the client's port for both schemes.
        ["redirect on the client's port"] = new(
            "", Answer(307), Get("/x", ("SERVER_PORT", "443"), ("HTTP_X_FORWARDED_PROTO", "http")), 307, ""),
        ["redirect of a scheme that is known"] = new(
            "", Answer(307), Get("/x", ("SERVER_PORT", "443"), ("REQUEST_SCHEME", "http")), 307, ""),
        // The application set the limit of the endpoint; raising the server's would not help.
        ["declared body beyond the limit of the endpoint"] = new(
            "", ReadThree, RecordBytes.Post(1, "/", new byte[4]), 413, ""),
        ["body beyond the limit of the endpoint"] = new(
            "", ReadThree, RecordBytes.Post(1, "/", new byte[4], more: ("CONTENT_LENGTH", "")), 413, ""),
        // What the web server took from the load balancer, and what it passes on of the client's chain.
        ["forwarded headers that say what the web server says"] = new(
            "", Identity,
            Get("/", ("REMOTE_ADDR", "203.0.113.9"), ("HTTPS", "on"), ("HTTP_HOST", "www.example.test:443"),
                ("HTTP_X_FORWARDED_FOR", "10.0.0.1, 203.0.113.9"), ("HTTP_X_FORWARDED_PROTO", "https"),
                ("HTTP_X_FORWARDED_HOST", "www.example.test")),
            200, "203.0.113.9 https www.example.test")
        { TrustsEverybody = true },
    };

    public static TheoryData<string> Faults => [.. s_faults.Keys];

    public static TheoryData<string> Right => [.. s_right.Keys];

    [Theory, MemberData(nameof(Faults))]
    public async Task Fault_IsReportedOnceAMinuteWithTheLineToAdd(string name)
    {
        var fault = s_faults[name];
        await using var server = await StartAsync(fault);

        await AssertReportedOnceAMinuteAsync(
            server, fault.EventName, async () => AssertAnswer(fault, await server.Connect().AskAsync(fault.Request)),
            fault.Texts);
    }

    [Theory, MemberData(nameof(Right))]
    public async Task RequestOrAnswer_Correct_NothingIsReported(string name)
    {
        var right = s_right[name];
        await using var server = await StartAsync(right);

        AssertAnswer(right, await server.Connect().AskAsync(right.Request));
        Assert.Empty(server.Logs.Warnings);
    }

    [Theory, Values(404, 302)]
    public async Task RequestLine_SetToNothing_IsAnswered(int status)
    {
        var response = await TestServer.AskAsync(
            Apps.Do(context =>
            {
                var request = context.Features.GetRequiredFeature<IHttpRequestFeature>();
                (request.PathBase, request.Path, request.Method, request.QueryString,
                    request.Protocol, request.Scheme) = (null!, null!, null!, null!, null!, null!);
                context.Response.StatusCode = status;
            }),
            static options => options.PathBase = "/app");

        Assert.Equal(status, response.Status);
    }

    [Theory]
    [InlineData("80", "www.example.test", "www.example.test")]
    [InlineData("", "www.example.test", "www.example.test")]
    [InlineData("abc", "", "www.example.test")]
    [InlineData("0", "", "www.example.test")]
    [InlineData("65536", "", "www.example.test")]
    [InlineData("65535", "", "www.example.test:65535")]
    [InlineData("8080", "www.example.test:8080", "www.example.test:8080")]
    [InlineData("8080", "www.example.test:80", "www.example.test")]
    [InlineData("8080", "[::1]:8080", "[::1]:8080")]
    public async Task Host_Correct_NothingIsReported(string port, string host, string expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Host);

        var response = await frontEnd.AskAsync(Get("/", ("SERVER_PORT", port), ("HTTP_HOST", host)));
        Assert.Equal(expected, response.Text);
        Assert.Empty(frontEnd.Server.Logs.Warnings);
    }

    [Fact]
    public async Task Requests_BeyondTheLimit_503AndTheSetting()
    {
        var release = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => release.Task, options => options.Limits.MaxConcurrentRequests = 1);
        var busy = server.Connect();
        busy.Send(RecordBytes.Get());

        await AssertReportedOnceAMinuteAsync(
            server, "RequestsRefused",
            async () => Assert.Equal(503, (await server.Connect().AskAsync()).Status),
            "got a 503", "MaxConcurrentRequests (1) was reached", "FastCgi:Limits:MaxConcurrentRequests",
            "FastCgi:Limits:RequestQueueLimit");

        release.SetResult();
        await busy.ReadResponseAsync();
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
    public async Task Header_TakenByOtherCode_IsReportedIfTheApplicationSeesIt(
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

        await frontEnd.AskAsync(Get("/", (name, value)));

        var logs = frontEnd.Server.Logs.Warnings.Select(static log => log.Message);
        if (report is null)
            Assert.Empty(logs);
        else
            Assert.Contains($" {report} ", Assert.Single(logs));
    }

    private static byte[] Request(params (string Name, string Value)[] parameters)
        => [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters), .. RecordBytes.StdinStream(1, [])];

    private static byte[] Get(string uri, params (string Name, string Value)[] more)
        => RecordBytes.Get(uri: uri, more: more);

    private static RequestDelegate Answer(int status) => Apps.Do(context =>
    {
        context.Response.StatusCode = status;
        context.Response.Headers.Location = "https://www.example.test/x";
    });

    private static Task ReadThree(HttpContext context)
    {
        context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>().MaxRequestBodySize = 3;
        return context.Request.Body.CopyToAsync(Stream.Null);
    }

    private static Task Host(HttpContext context)
    {
        _ = context.Request.Headers.Host;
        return context.Response.WriteAsync(context.Request.Host.Value ?? "");
    }

    private static Task Identity(HttpContext context) => context.Response.WriteAsync(
        $"{context.Connection.RemoteIpAddress} {context.Request.Scheme} {context.Request.Host}");

    private static Task<TestServer> StartAsync(Fault fault) => TestServer.StartAsync(
        app =>
        {
            var forwarded = new ForwardedHeadersOptions { ForwardedHeaders = ForwardedHeaders.All };
            forwarded.KnownProxies.Clear();
            forwarded.KnownIPNetworks.Clear();
            if (fault.TrustsEverybody)
                app.UseForwardedHeaders(forwarded);
            app.Run(fault.Application);
        },
        options =>
        {
            options.PathBase = fault.PathBase;
            if (fault.EventName == "RequestBodyTooLarge")
                options.Limits.MaxRequestBodySize = 3;
        });

    private static void AssertAnswer(Fault fault, WireResponse response)
    {
        Assert.Equal(fault.Status, response.Status);
        Assert.Contains(fault.Body, response.Text);
    }

    /// <summary>Acts once, twice within a minute, and once after it: the second message counts three.</summary>
    private static async Task AssertReportedOnceAMinuteAsync(
        TestServer server, string eventName, Func<Task> act, params string[] texts)
    {
        List<CollectedLog> Find() => [.. server.Logs.Named(eventName)];

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
        Assert.All(texts, text => Assert.Contains(text, first.Message));
    }

    private sealed record Fault(
        string EventName, RequestDelegate Application, byte[] Request, int Status, string Body, params string[] Texts)
    {
        public string PathBase { get; init; } = "";

        public bool TrustsEverybody { get; init; }
    }
}
