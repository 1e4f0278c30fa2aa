namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// HAProxy with the settings in docs/front-ends/haproxy.md, which sends up to 30 concurrent requests over one
/// connection.
/// </summary>
public sealed class MultiplexedConnectionTests
{
    [Fact]
    public async Task Upload_NotReadByTheApplication_DoesNotStopTheOthers()
    {
        var stuckOn = new TaskCompletionSource<string>();
        var go = new TaskCompletionSource();
        using var both = new Barrier(2);
        await using var site = new ConfiguredSite();
        var application = await StartAsync(
            site,
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
        await Task.WhenAll(GetAsync(site.Client, "/both"), GetAsync(site.Client, "/both"))
            .WaitAsync(FrontEndTest.Patience);
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

    /// <summary>docs/decisions/cut-responses.md says so. The others need the connection, so it stays open.</summary>
    [Fact]
    public async Task Response_CutWhileAnotherUsesItsConnection_LooksComplete()
    {
        var heldOn = new TaskCompletionSource<string>();
        var go = new TaskCompletionSource();
        using var both = new Barrier(2);
        await using var site = new ConfiguredSite();
        var application = await StartAsync(site, app =>
        {
            app.MapGet("/both", () => both.SignalAndWait(FrontEndTest.Patience));
            app.MapGet("/held", async (HttpContext context) =>
            {
                heldOn.SetResult(context.Connection.Id);
                await go.Task;
                return "whole";
            });
            app.MapGet("/cut", async (HttpContext context) =>
            {
                await context.Response.WriteAsync(context.Connection.Id);
                throw new InvalidOperationException("This handler fails.");
            });
        });
        application.Log.Expected.Add("ApplicationError");
        await Task.WhenAll(GetAsync(site.Client, "/both"), GetAsync(site.Client, "/both"))
            .WaitAsync(FrontEndTest.Patience);

        var held = GetAsync(site.Client, "/held");
        var connection = await heldOn.Task.WaitAsync(FrontEndTest.Patience);
        Assert.Equal(connection, await GetAsync(site.Client, "/cut").WaitAsync(FrontEndTest.Patience));
        go.SetResult();
        Assert.Equal("whole", await held.WaitAsync(FrontEndTest.Patience));
    }

    private static async Task<TestApplication> StartAsync(
        ConfiguredSite site,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null)
    {
        var application = await site.StartApplicationAsync(site.GetUnixAddress("app.sock"), configure, configureServer);
        var text = await DocumentBlock.ReadFileAsync(
            "tests/FastCgi.AspNetCore.FrontEndTests/Documents/multiplexing.cfg",
            ("127.0.0.1:8080", site.Address),
            ("/run/app/app.sock", $"{application.EndPoint}"),
            // Each thread has its own connections.
            ("maxconn 500", "maxconn 500\n    nbthread 1"));
        await site.StartServerAsync("haproxy.cfg", text, ["haproxy", "-db", "-f"]);
        return application;
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
                await response.Content.ReadAsStringAsync());
            response.Dispose();
        }
    }
}
