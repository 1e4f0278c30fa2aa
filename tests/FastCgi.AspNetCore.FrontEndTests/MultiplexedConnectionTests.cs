using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// HAProxy with the configuration in docs/multiplexing.md, which sends up to 50 concurrent requests over one
/// connection. The downloads are small, because HAProxy before 2.6.14 crashes if the end of its buffer splits a header
/// block (haproxy#2150).
/// </summary>
public sealed class MultiplexedConnectionTests
{
    private const int ClientCount = 60;
    private const int RoundCount = 6;

    [Fact]
    public async Task Load_UploadsAndDownloadsInterleaved_EachAnswerIsRight()
    {
        var use = new ConnectionUse();
        await using var site = new ConfiguredSite();
        await StartAsync(site, bufferSize: 524_288, app =>
        {
            app.Use(use.CountAsync);
            app.MapGet("/token/{token}", (string token) => token);
            app.MapPost(
                "/upload/{token}",
                async (string token, HttpRequest request) => $"{token} {await Content.HashAsync(request.Body)}");
            app.MapGet("/download/{token}/{length:int}", (string token, int length, HttpResponse response) =>
            {
                response.Headers["X-Token"] = token;
                return Results.Bytes(Content.Create(length));
            });
        });

        await Task.WhenAll(Enumerable.Range(0, ClientCount).Select(async client =>
        {
            for (var round = 0; round < RoundCount; round++)
                await RequestAsync(site.Client, client, round);
        })).WaitAsync(FrontEndTest.Patience);

        Assert.InRange(use.MaxRequestsAtATime, 2, 50);
    }

    [Fact]
    public async Task Upload_NotReadByTheApplication_DoesNotStopTheOthers()
    {
        var stuckOn = new TaskCompletionSource<string>();
        var go = new TaskCompletionSource();
        using var both = new Barrier(2);
        await using var site = new ConfiguredSite();
        var application = await StartAsync(
            site,
            bufferSize: 16_384,
            app =>
            {
                app.MapGet("/connection", (HttpContext context) => context.Connection.Id);
                app.MapGet("/both", () => both.SignalAndWait(FrontEndTest.Patience));
                app.MapPost("/stuck", async (HttpContext context) =>
                {
                    stuckOn.SetResult(context.Connection.Id);
                    await go.Task;
                    return await Content.HashAsync(context.Request.Body);
                });
            },
            options =>
            {
                options.Limits.MaxRequestBufferSize = 64 * 1024;
                options.Limits.UnreadBodyTimeout = TimeSpan.FromSeconds(1);
            });
        application.Log.Expected.Add("ApplicationError");

        // Shows the server that HAProxy shares the connection. Otherwise, it might wait for the application until the
        // next request.
        await Task.WhenAll(GetAsync(site.Client, "/both"), GetAsync(site.Client, "/both")).WaitAsync(FrontEndTest.Patience);
        var upload = site.Client.PostAsync("/stuck", new ByteArrayContent(Content.Create(8 * 1024 * 1024)));
        var connection = await stuckOn.Task.WaitAsync(FrontEndTest.Patience);
        for (var i = 0; i < 20; i++)
            Assert.Equal(connection, await GetAsync(site.Client, "/connection").WaitAsync(FrontEndTest.Patience));
        // Otherwise the application might read the body before the server drops it.
        await application.Log.SingleAsync("RequestBodyRefused");
        go.SetResult();

        using var refused = await upload.WaitAsync(FrontEndTest.Patience);
        Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
    }

    private static async Task<TestApplication> StartAsync(
        ConfiguredSite site,
        int bufferSize,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null)
    {
        var application = await site.StartApplicationAsync(site.GetUnixAddress("app.sock"), configure, configureServer);
        await site.StartServerAsync(
            "multiplexing.md",
            "haproxy.cfg",
            ["haproxy", "-db", "-f"],
            ("127.0.0.1:8080", site.Address),
            ("/run/app/app.sock", $"{application.EndPoint}"),
            ("tune.bufsize 524288", $"tune.bufsize {bufferSize}"),
            // Each thread has its own connections.
            ("maxconn 500", "maxconn 500\n    nbthread 1"));
        return application;
    }

    private static async Task RequestAsync(HttpClient http, int client, int round)
    {
        var token = $"client-{client}-round-{round}";
        Assert.Equal(token, await GetAsync(http, "/token/" + token));

        // Each request has a unique length, and therefore unique bytes.
        var unique = (client * RoundCount) + round;
        var body = Content.Create(40_000 + unique);
        using var upload = await SendAsync(() => http.PostAsync("/upload/" + token, new ByteArrayContent(body)));
        Assert.Equal($"{token} {Content.Hash(body)}", await upload.Content.ReadAsStringAsync());

        using var download = await SendAsync(() => http.GetAsync($"/download/{token}/{1_000 + unique}"));
        Assert.Equal(token, Assert.Single(download.Headers.GetValues("X-Token")));
        Assert.Equal(Content.Create(1_000 + unique), await download.Content.ReadAsByteArrayAsync());
    }

    private static async Task<string> GetAsync(HttpClient http, string path)
    {
        using var response = await SendAsync(() => http.GetAsync(path));
        return await response.Content.ReadAsStringAsync();
    }

    /// <summary>
    /// HAProxy up to 2.9.7 returns 500 without asking the application if its buffer for the connection has no room for
    /// the parameters of a request (haproxy#2568). The application never returns that page.
    /// </summary>
    private static async Task<HttpResponseMessage> SendAsync(Func<Task<HttpResponseMessage>> send)
    {
        while (true)
        {
            var response = await send();
            if (response.StatusCode != HttpStatusCode.InternalServerError)
                return response;

            Assert.StartsWith(
                "<html><body><h1>500 Internal Server Error</h1>",
                await response.Content.ReadAsStringAsync(),
                StringComparison.Ordinal);
            response.Dispose();
        }
    }

    /// <summary>Counts the concurrent requests of a connection.</summary>
    private sealed class ConnectionUse
    {
        private readonly ConcurrentDictionary<string, int> _requests = new();
        private int _maxRequestsAtATime;

        public int MaxRequestsAtATime => _maxRequestsAtATime;

        public async Task CountAsync(HttpContext context, RequestDelegate next)
        {
            var count = _requests.AddOrUpdate(context.Connection.Id, 1, static (_, count) => count + 1);
            InterlockedMax(ref _maxRequestsAtATime, count);
            await next(context);
            _requests.AddOrUpdate(context.Connection.Id, 0, static (_, count) => count - 1);
        }

        private static void InterlockedMax(ref int location, int value)
        {
            for (var seen = location; seen < value;)
            {
                var before = Interlocked.CompareExchange(ref location, value, seen);
                if (before == seen)
                    return;
                seen = before;
            }
        }
    }
}
