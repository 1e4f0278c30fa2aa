namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <content>Sizes, times, and connections.</content>
internal static partial class Faults
{
    private static FrontEndKind[] Kinds
        => [FrontEndKind.Nginx, FrontEndKind.Apache, FrontEndKind.HaProxy, FrontEndKind.Lighttpd];

    private static IEnumerable<Fault> Limits()
    {
        yield return LargeHead(FrontEndKind.Nginx, 6_000, "fastcgi_buffer_size 16k;", HttpStatusCode.BadGateway) with
        {
            Wrong =
                [(Include, $"{Include} fastcgi_buffer_size 4k; fastcgi_buffers 8 4k; fastcgi_busy_buffers_size 8k;")],
            Right = [(Include, $"{Include} fastcgi_buffer_size 16k; fastcgi_buffers 8 16k;")],
            Log = "upstream sent too big header",
        };
        yield return LargeHead(FrontEndKind.HaProxy, 16_000, "tune.bufsize 32768", HttpStatusCode.BadGateway) with
        {
            Right = [("fcgi-app hello\n    docroot", "global\n    tune.bufsize 32768\n\nfcgi-app hello\n    docroot")],
        };
        yield return LargeHead(
            FrontEndKind.Apache,
            20_000,
            "# Apache has no setting for it",
            HttpStatusCode.InternalServerError) with
        { Log = "AH01070: Error parsing script headers" };

        yield return new("uploads of more than its own limit", FrontEndKind.Nginx)
        {
            Visit = UploadAsync(1_100_000),
            Wrong = [(Include, $"{Include} client_max_body_size 1m;")],
            Right = [(Include, $"{Include} client_max_body_size 30m;")],
            Status = HttpStatusCode.RequestEntityTooLarge,
            Rule = ("body-size", "client_max_body_size 30m;"),
            Log = "client intended to send too large body",
        };
        yield return new("uploads of more than its own limit", FrontEndKind.Lighttpd)
        {
            Visit = UploadAsync(1_100_000),
            Wrong = [("fastcgi.server", "server.max-request-size = 1000\nfastcgi.server")],
            Status = HttpStatusCode.RequestEntityTooLarge,
            Rule = ("body-size", "server.max-request-size = 30000"),
        };
        yield return new("uploads of more than the application's limit", FrontEndKind.Nginx)
        {
            WrongOptions = static options => options.Limits.MaxRequestBodySize = 1_000,
            Application = static app => app.MapPost(
                "/", static (HttpRequest request) => Content.HashAsync(request.Body)),
            Visit = UploadAsync(1_001),
            Status = HttpStatusCode.RequestEntityTooLarge,
            Event = ("RequestBodyTooLarge", "FastCgi:Limits:MaxRequestBodySize"),
        };

        yield return Slow(
            FrontEndKind.Nginx,
            "fastcgi_read_timeout 120s;",
            "fastcgi_read_timeout 120s;",
            ("fastcgi_read_timeout 120s;", "fastcgi_read_timeout 1s;")) with
        {
            Speedup = 2,
            Log = "upstream timed out (110: Connection timed out) while reading response header from upstream",
        };
        yield return Slow(FrontEndKind.Apache, "timeout=120", "timeout=120", ("timeout=120", "timeout=1"));
        yield return Slow(
            FrontEndKind.HaProxy,
            "timeout server 120s",
            "timeout server 120s",
            ("timeout server 120s", "timeout server 1s"));
        yield return Slow(
            FrontEndKind.Lighttpd,
            "\"read-timeout\" => 120",
            "\"read-timeout\" => 120",
            ("\"check-local\"", "\"read-timeout\" => 1, \"check-local\""));
    }

    private static Fault LargeHead(FrontEndKind kind, int size, string line, HttpStatusCode status)
        => new("response headers that are too large", kind)
        {
            Application = app => app.MapFallback(
                (HttpResponse response) => response.Headers["X-Large"] = new string('x', size)),
            Rule = ("head-buffer", line),
            Status = status,
        };

    private static Fault Slow(FrontEndKind kind, string eventLine, string ruleLine, (string, string) wrong)
        => new("it does not wait for the answer", kind)
        {
            Wrong = [wrong],
            Speedup = 3,
            Application = static app => app.MapFallback(static async (HttpContext context) =>
            {
                if (context.Request.Path == "/slow")
                    await Task.Delay(TimeSpan.FromSeconds(5), context.RequestAborted);
            }),
            Visit = static client => Task.WhenAll(
                Enumerable.Range(0, 3).Select(async _ => (await client.GetAsync("/slow")).Dispose())),
            Event = ("RequestsGivenUp", eventLine),
            Rule = ("read-timeout", ruleLine),
        };

    private static IEnumerable<Fault> Connections()
    {
        yield return new("connections are not kept", FrontEndKind.Nginx)
        {
            UsesTls = true,
            Speedup = 3,
            Wrong = [("    fastcgi_keep_conn on;\n", "")],
            Visit = AskOftenAsync,
            Event = ("ConnectionsNotKept", "fastcgi_keep_conn on;"),
            Rule = ("keepalive-missing", "fastcgi_keep_conn on;"),
        };
        yield return new("connections are not kept", FrontEndKind.Apache)
        {
            UsesTls = true,
            Speedup = 3,
            Wrong = [(" enablereuse=on", "")],
            Visit = AskOftenAsync,
            Event = ("ConnectionsNotKept", "enablereuse=on"),
        };
    }

    private static Func<HttpClient, Task> UploadAsync(int size)
        => async client => (await client.PostAsync("/", new ByteArrayContent(new byte[size]))).Dispose();

    /// <summary>
    /// At least 20 requests of each of the server's seconds, for a whole interval of its doctor. Many more would only
    /// take time from other tests.
    /// </summary>
    private static async Task AskOftenAsync(HttpClient client)
    {
        var pause = TimeSpan.FromMilliseconds(15);
        var end = DateTime.UtcNow + TimeSpan.FromSeconds(7);
        await Task.WhenAll(Enumerable.Range(0, 4).Select(async _ =>
        {
            while (DateTime.UtcNow < end)
            {
                try
                {
                    (await client.GetAsync("/")).Dispose();
                }
                catch (HttpRequestException exception) when (
                    exception.HttpRequestError == HttpRequestError.HttpProtocolError)
                {
                    // nginx closes a connection of HTTP/2 after a thousand requests. What was asked just then is asked
                    // again.
                }

                await Task.Delay(pause);
            }
        }));
    }
}
