namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>
/// Secrets of a client and the application stay private: with a log at Trace, the log on STDERR, and a report of each
/// mistake, no secret of a request or response appears in a log line, in the status, or in STDERR records.
/// </summary>
[Collection(Alone.Name)]
public sealed class SecretTests : HostTest
{
    // In cookies, credentials, keys, certificates, and bodies of requests and responses.
    private const string Secret = "s3cr3t";

    // In queries, which hosting logs with any server.
    private const string QuerySecret = "qu3ry";

    // Outside the usual places of secrets: the log of records is meant to show such values.
    private const string Misplaced = "m1splaced";

    private static readonly (string Name, string Value)[] s_secrets =
    [
        ("HTTP_COOKIE", $"session={Secret}"), ("HTTP_AUTHORIZATION", $"Bearer {Secret}"),
        ("HTTP_PROXY_AUTHORIZATION", $"Basic {Secret}"), ("HTTP_X_API_KEY", Secret),
        ("REMOTE_PASSWD", Secret), ("AUTH_PASSWORD", Secret), ("SSL_CLIENT_CERT", $"{Secret}!"),
        ("SSL_CLIENT_KEY", Secret), ("HTTP_X_CLIENT_CERT", Secret),
    ];

    private readonly StringBuilder _standardError = new();

    [Fact]
    public async Task Secrets_WithEveryMistakeAndTheLogAtTrace_ShowNowhere()
    {
        await using var app = await StartAsync();

        await SendMistakesAsync();
        await SendWhatIsNoRequestAsync();
        var json = await GetAsync("/fastcgi-status?format=json");
        var page = await GetAsync("/fastcgi-status");
        foreach (var name in s_provoked)
            await Waiting.UntilAsync(() => Logs.All.Any(log => log.EventName == name), name);
        await app.StopAsync();

        var lines = Logs.All.Select(static log => $"{log.Category} {log.EventName}: {log.Message} {log.Exception}")
            .ToList();
        Assert.DoesNotContain(lines, static line => line.Contains(Secret, StringComparison.OrdinalIgnoreCase));
        Assert.DoesNotContain(
            lines,
            static line => line.StartsWith("FastCgi.AspNetCore", StringComparison.Ordinal)
                && line.Contains(QuerySecret, StringComparison.OrdinalIgnoreCase));
        Assert.DoesNotContain(
            lines,
            static line => line.StartsWith("FastCgi.AspNetCore ", StringComparison.Ordinal)
                && line.Contains(Misplaced));
        // Hosting logs whole targets, which proves that the test would detect one of ours.
        Assert.Contains(
            lines,
            static line => line.StartsWith("Microsoft.AspNetCore.Hosting", StringComparison.Ordinal)
                && line.Contains(QuerySecret));
        Assert.All(
            [json, page],
            static text => Assert.True(
                !text.Contains(Secret, StringComparison.OrdinalIgnoreCase)
                    && !text.Contains(QuerySecret, StringComparison.OrdinalIgnoreCase)));
        Assert.Contains("s1gn", _standardError.ToString());
        Assert.DoesNotContain(Secret, _standardError.ToString(), StringComparison.OrdinalIgnoreCase);
    }

    private static readonly string[] s_provoked =
    [
        "ParametersMissing", "HostWithoutPort", "PathBaseNotMatched", "RedirectToHttps", "RequestBodyTooLarge",
        "HeadersDropped",
        "ClientCertificateNotVerified", "ClientCertificateUnreadable", "UserNotTaken", "HeadTooLargeForNginx",
        "RequestRejected", "BadRequest",
        "ApplicationError", "ApplicationAborted", "AbortRequestReceived", "HeadBodyWritten", "WrongProtocol",
        "ProtocolError", "RoleNotServed",
    ];

    private async Task<WebApplication> StartAsync()
    {
        var builder = CreateBuilder("--urls", Address);
        builder.Logging.SetMinimumLevel(LogLevel.Trace).AddFastCgiStandardError();
        builder.Services.AddAuthentication("FastCgi").AddFastCgi();
        builder.WebHost.UseFastCgi(options => options.Limits.MaxRequestBodySize = 1_000);
        var app = Build(builder);
        app.UseAuthentication();
        app.MapFastCgiStatus().AllowAnonymous();
        app.MapGet("/redirect", static () => Results.Redirect("https://www.example.test/redirect"));
        app.MapPost("/body", static async context => await context.Request.Body.CopyToAsync(Stream.Null));
        app.MapGet(
            "/certificate",
            static context => context.Response.WriteAsync($"{context.Connection.ClientCertificate is null}"));
        app.MapGet("/headers", static context =>
        {
            context.Response.Headers.Connection = Secret;
            context.Response.Headers.SetCookie =
                $"session={Secret}{new string('x', context.Request.Query.ContainsKey("large") ? 20_000 : 6_000)}";
            return Answer(context);
        });
        app.MapMethods("/head", ["HEAD"], static context => Answer(context));
        app.MapGet("/throw", static context => throw new InvalidOperationException("s1gn"));
        app.MapGet("/abort", static context =>
        {
            context.Abort();
            return Task.CompletedTask;
        });
        app.MapGet("/wait", static context => Task.Delay(Timeout.Infinite, context.RequestAborted));
        await app.StartAsync();
        return app;
    }

    private static Task Answer(HttpContext context) => context.Response.WriteAsync(Secret);

    private async Task SendMistakesAsync()
    {
        (string, string)[] apache =
        [
            ("SERVER_SOFTWARE", "Apache/2.4.58"),
            .. s_secrets.Where(static secret => secret.Name != "HTTP_AUTHORIZATION"),
        ];
        await SendAsync("/?t=qu3ry", "GET", s_secrets);
        await SendPairsAsync([("HTTP_HOST", "www.example.test"), ("QUERY_STRING", QuerySecret), .. s_secrets]);
        await SendPairsAsync([("REQUEST_METHOD", "GET"), ("QUERY_STRING", QuerySecret), .. s_secrets]);
        await SendAsync("/?t=qu3ry", "GET", [("SERVER_PORT", "8080"), .. s_secrets]);
        await SendAsync("/elsewhere?t=qu3ry", "GET", [("PATH_BASE", "/app"), .. s_secrets]);
        await SendAsync("/redirect?t=qu3ry", "GET", [("HTTP_X_FORWARDED_PROTO", "https"), .. s_secrets]);
        await SendAsync("/body?t=qu3ry", "POST", [("CONTENT_LENGTH", "2000"), .. s_secrets]);
        await SendAsync("/headers?t=qu3ry", "GET", apache);
        await SendAsync("/headers?t=qu3ry&large", "GET", s_secrets);
        await SendAsync("/certificate?t=qu3ry", "GET", [("HTTPS", "on"), .. s_secrets]);
        await SendAsync(
            "/certificate?t=qu3ry", "GET", [("HTTPS", "on"), ("SSL_CLIENT_VERIFY", "SUCCESS"), .. s_secrets]);
        await SendAsync("/?t=qu3ry", "GET", [("REMOTE_USER", "ann"), .. s_secrets]);
        await SendAsync("/head?t=qu3ry", "HEAD", s_secrets);
        await SendAsync("/throw?t=qu3ry", "GET", s_secrets);
        await SendAsync("/abort?t=qu3ry", "GET", s_secrets);
        // Rejected by the server because of their content.
        await SendAsync("/?t=qu3ry", "GET", [("HTTP_X_SPLIT", $"{Misplaced}\r\nX: y"), .. s_secrets]);
        await SendAsync("/?t=qu3ry", "GET", [("CONTENT_LENGTH", Misplaced), .. s_secrets]);
        await SendAsync("/?t=qu3ry", $"{Misplaced} {Misplaced}", s_secrets);
        await SendAsync($"no target {Misplaced}", "GET", s_secrets);
    }

    private async Task SendWhatIsNoRequestAsync()
    {
        await SendBytesAsync(Encoding.ASCII.GetBytes(
            $"GET /?{QuerySecret} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {Secret}\r\nCookie: {Secret}\r\n\r\n"));
        await SendBytesAsync([0x16, 3, 1, 0, 9, .. Encoding.ASCII.GetBytes(Secret)]);
        await SendBytesAsync(
            [
                .. RecordBytes.Begin(),
                .. RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs(s_secrets)),
                .. Encoding.ASCII.GetBytes(Secret),
            ]);
        await SendBytesAsync(
            [.. RecordBytes.Begin(1, role: 2, keepConnection: false), .. RecordBytes.ParamsStream(1, s_secrets)]);
        await SendBytesAsync(
            [
                .. RecordBytes.Begin(1, 1, keepConnection: false),
                .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", "/wait", s_secrets)),
                .. RecordBytes.Abort(),
            ]);
    }

    private Task SendAsync(string uri, string method, (string, string)[] more)
    {
        // The last value of a name wins, and these values must win.
        var names = more.Select(static pair => pair.Item1).ToHashSet();
        return SendPairsAsync(
            [.. RecordBytes.RequestParams(method, uri).Where(pair => !names.Contains(pair.Name)), .. more]);
    }

    private Task SendPairsAsync((string, string)[] pairs) => SendBytesAsync(
        [
            .. RecordBytes.Begin(1, 1, keepConnection: false),
            .. RecordBytes.ParamsStream(1, pairs),
            .. RecordBytes.StdinStream(1, Encoding.ASCII.GetBytes($"password={Secret}"))]);

    /// <summary>Sends on a new connection, and reads until the server closes it.</summary>
    private async Task SendBytesAsync(byte[] bytes)
    {
        using var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync(bytes);
        try
        {
            while (await client.ReadRecordAsync() is { } record)
            {
                if (record.Type == RecordBytes.Stderr)
                    _standardError.Append(Encoding.UTF8.GetString(record.Content));
                if (record.Type is RecordBytes.EndRequest or not (RecordBytes.Stdout or RecordBytes.Stderr))
                    return;
            }
        }
        catch (IOException)
        {
            // Reset.
        }
    }

    private async Task<string> GetAsync(string uri)
    {
        using var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync(
            RecordBytes.Get(1, uri, keepConnection: false, more: [("REMOTE_ADDR", "127.0.0.1"), .. s_secrets]));
        return Encoding.UTF8.GetString(await client.ReadBodyAsync());
    }
}
