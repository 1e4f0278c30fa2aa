using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The usual mistakes with a web server: the log, or the answer, has the cause and the line to add, and with that line it works.</summary>
public sealed class MisconfigurationTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private static readonly FrontEndSetup s_nginx = new() { Kind = FrontEndKind.Nginx, UsesUnixSocket = true };

    [Fact]
    public async Task Head_BeyondNginxBuffer_502AndWarningHasTheLines()
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            s_nginx,
            static app => app.MapFallback(static (HttpResponse response) =>
            {
                response.Headers["X-Large"] = new string('x', 6_000);
                return "reached";
            }),
            more: "location /wrong { include /etc/nginx/fastcgi_params; fastcgi_buffer_size 4k; fastcgi_buffers 8 4k; fastcgi_busy_buffers_size 8k; fastcgi_pass app; }"
                + "location /right { include /etc/nginx/fastcgi_params; fastcgi_buffer_size 8k; fastcgi_buffers 8 8k; fastcgi_pass app; }");

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/wrong")).StatusCode);
        Assert.Equal("reached", await site.Client.GetStringAsync("/right"));

        var warning = Assert.Single(site.Log.Find(LogLevel.Warning, "HeadTooLargeForNginx"));
        Assert.Contains("fastcgi_buffer_size 8k; fastcgi_buffers 8 8k;", warning, StringComparison.Ordinal);
        Assert.Contains("upstream sent too big header", site.FrontEnd.Log, StringComparison.Ordinal);
        Assert.Contains("upstream sent too big header", warning, StringComparison.Ordinal);
    }

    /// <summary>What nginx says of it is what a reader finds in the document.</summary>
    [Fact]
    public async Task Failure_InTheMiddleOfAnAnswer_502AndNginxSaysSo()
    {
        const string Line = "upstream sent invalid FastCGI record type: 2";
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(s_nginx, static app => app.MapGet("/", static (HttpContext context) => context.Abort()));

        Assert.Equal(HttpStatusCode.BadGateway, (await site.Client.GetAsync("/")).StatusCode);
        await Waiting.UntilAsync(() => site.FrontEnd.Log.Contains(Line, StringComparison.Ordinal), Line);
        Assert.Contains(Line, await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "troubleshooting.md")), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx)]
    [InlineData(FrontEndKind.Apache)]
    [InlineData(FrontEndKind.HaProxy)]
    [InlineData(FrontEndKind.Lighttpd)]
    public async Task Peer_ThatIsNotAllowed_WarningHasAddressAndSetting(FrontEndKind kind)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(
            new FrontEndSetup { Kind = kind },
            static app => app.MapFallback(static () => "reached"),
            configureBuilder: static builder => builder.WebHost.UseUrls("fastcgi://127.0.0.1:0?allowedAddresses=192.0.2.1"));

        using var response = await site.Client.GetAsync("/");

        Assert.InRange((int)response.StatusCode, 500, 503);
        // It is written on another thread than the one that accepts.
        await Waiting.UntilAsync(() => site.Log.Find(LogLevel.Warning, "PeerRefused").Any(), "the warning");
        var warning = Assert.Single(site.Log.Find(LogLevel.Warning, "PeerRefused"));
        Assert.Contains("the last from 127.0.0.1), because AllowedAddresses of the endpoint", warning, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(FrontEndKind.Nginx)]
    [InlineData(FrontEndKind.Apache)]
    [InlineData(FrontEndKind.HaProxy)]
    [InlineData(FrontEndKind.Lighttpd)]
    public async Task Requests_BeyondTheLimit_WarningHasTheSettings(FrontEndKind kind)
    {
        var hasBegun = new TaskCompletionSource();
        var release = new TaskCompletionSource();
        var site = await StartAsync(
            new FrontEndSetup { Kind = kind },
            app => app.MapGet("/", async () =>
            {
                hasBegun.SetResult();
                await release.Task.WaitAsync(Patience);
                return "done";
            }),
            static options => options.Limits.MaxConcurrentRequests = 1);

        var first = site.Client.GetStringAsync("/");
        await hasBegun.Task.WaitAsync(Patience);
        using var second = await site.Client.GetAsync("/");
        release.SetResult();

        Assert.Equal(HttpStatusCode.ServiceUnavailable, second.StatusCode);
        Assert.Contains("FastCgi:Limits:MaxConcurrentRequests", Assert.Single(site.Log.Find(LogLevel.Warning, "RequestsRefused")), StringComparison.Ordinal);
        Assert.Equal("done", await first);
    }

    /// <summary>The request's target stays that of the client.</summary>
    [Fact]
    public async Task XAccelRedirect_ToTheApplicationItself_IsACycle()
    {
        ExpectsFrontEndErrors = true;
        var count = 0;
        var site = await StartAsync(s_nginx, app => app.MapGet("/file", (HttpResponse response) =>
        {
            count++;
            response.Headers["X-Accel-Redirect"] = "/other";
        }));

        Assert.Equal(HttpStatusCode.InternalServerError, (await site.Client.GetAsync("/file")).StatusCode);
        Assert.InRange(count, 2, 20);
        Assert.Contains("rewrite or internal redirection cycle", site.FrontEnd.Log, StringComparison.Ordinal);
    }
}
