using System.Net.WebSockets;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// Kestrel serves WebSockets alongside FastCGI, with the lines of <c>docs/websockets.md</c> in the full configurations.
/// </summary>
public sealed class KestrelAlongsideTests : IAsyncLifetime, IDisposable
{
    private const string Document = "websockets.md";
    private const string Kestrel = "127.0.0.1:5000";

    // The modules that the page names.
    private const string ApacheModules =
        "LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n"
            + "LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so\n";

    private readonly ScratchFolder _folder = new();
    private readonly TaskCompletionSource _isRead = Waiting.Signal();
    private TestApplication? _application;
    private FrontEnd? _frontEnd;

    public Task InitializeAsync() => TestCertificates.WriteAsync(_folder.Path);

    public async Task DisposeAsync()
    {
        if (_frontEnd is not null)
            await _frontEnd.DisposeAsync();
        if (_application is not null)
            await _application.DisposeAsync();
    }

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(FrontEndKind.Nginx, "nginx websocket", "    location / {")]
    [InlineData(FrontEndKind.Apache, "apache websocket", "    ProxyPass \"/\"")]
    [InlineData(FrontEndKind.Caddy, "caddy websocket", "\t@app path")]
    [InlineData(FrontEndKind.HaProxy, "haproxy websocket", "\nbackend hello\n")]
    public async Task WebSockets_OnTheirPaths_ReachKestrelAndTheRestFastCgi(
        FrontEndKind kind, string block, string before)
    {
        using var client = await StartAsync(kind, block, before);

        Assert.Equal("FastCGI https 127.0.0.1", await GetWithForgedHeadersAsync(client, "/whoami"));
        foreach (var path in new[] { "/_blazor", "/chat" })
        {
            Assert.Equal("Kestrel https 127.0.0.1", await GetWithForgedHeadersAsync(client, path));
            var address = new UriBuilder(client.BaseAddress!) { Scheme = "wss", Path = path + "/socket" }.Uri;
            using var socket = new ClientWebSocket();
            await socket.ConnectAsync(address, client, CancellationToken.None).WaitAsync(FrontEndTest.Patience);
            await socket.SendAsync("Hello"u8.ToArray(), WebSocketMessageType.Text, true, CancellationToken.None);
            var buffer = new byte[100];
            var answer = await socket.ReceiveAsync(buffer, CancellationToken.None).WaitAsync(FrontEndTest.Patience);
            Assert.Equal("Hello over https", Encoding.UTF8.GetString(buffer, 0, answer.Count));
        }

        // SignalR uses events where WebSockets do not work.
        await using var events = await client.GetStreamAsync("/chat/events").WaitAsync(FrontEndTest.Patience);
        var first = new byte["data: 1\n\n".Length];
        await events.ReadExactlyAsync(first).AsTask().WaitAsync(FrontEndTest.Patience);
        Assert.Equal("data: 1\n\n", Encoding.ASCII.GetString(first));
        _isRead.SetResult();
        Assert.Equal("data: 2\n\n", await new StreamReader(events).ReadToEndAsync().WaitAsync(FrontEndTest.Patience));
    }

    [Fact]
    public async Task Page_Code_EqualsTheTestedCode()
    {
        var block = await DocumentBlock.ReadAsync(Document, "forwarded headers");
        var source = await File.ReadAllTextAsync(
            Repository.GetPath("tests/FastCgi.AspNetCore.FrontEndTests/KestrelAlongsideTests.cs"));

        Assert.Contains(block.Replace(" ", ""), source.Replace(" ", ""));
    }

    private static async Task<string> GetWithForgedHeadersAsync(HttpClient client, string path)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        request.Headers.Add("X-Forwarded-For", "203.0.113.6");
        request.Headers.Add("X-Forwarded-Proto", "http");
        using var response = await client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }

    private void Configure(WebApplication app)
    {
        app.UseWhen(
            context => context.Features.Get<IFastCgiRequestFeature>() is null,
            kestrel => kestrel.UseForwardedHeaders(new()
            {
                ForwardedHeaders = ForwardedHeaders.XForwardedFor | ForwardedHeaders.XForwardedProto,
            }));
        app.UseHttpsRedirection();
        app.UseWebSockets();
        app.Map("/{path}/socket", async (HttpContext context) =>
        {
            using var socket = await context.WebSockets.AcceptWebSocketAsync();
            var buffer = new byte[100];
            var question = await socket.ReceiveAsync(buffer, CancellationToken.None);
            var answer = $"{Encoding.UTF8.GetString(buffer, 0, question.Count)} over {context.Request.Scheme}";
            await socket.SendAsync(
                Encoding.UTF8.GetBytes(answer), WebSocketMessageType.Text, true, CancellationToken.None);
            await socket.ReceiveAsync(buffer, CancellationToken.None);
        });
        app.MapGet("/chat/events", async (HttpResponse response) =>
        {
            response.ContentType = "text/event-stream";
            await response.WriteAsync("data: 1\n\n");
            await _isRead.Task.WaitAsync(FrontEndTest.Patience);
            await response.WriteAsync("data: 2\n\n");
        });
        app.MapFallback(static (HttpContext context) => string.Join(
            ' ',
            context.Features.Get<IFastCgiRequestFeature>() is null ? "Kestrel" : "FastCGI",
            context.Request.Scheme,
            context.Connection.RemoteIpAddress));
    }

    private async Task<HttpClient> StartAsync(FrontEndKind kind, string block, string before)
    {
        var setup = new FrontEndSetup
        {
            Kind = kind,
            UsesUnixSocket = kind != FrontEndKind.HaProxy,
            UsesTls = true,
            IsDocumented = true,
        };
        var address = _folder.GetAddress(setup.UsesUnixSocket);
        _application = await TestApplication.StartAsync(address, Configure, configureBuilder: builder =>
        {
            builder.WebHost.UseUrls(address, "http://127.0.0.1:0");
            builder.Configuration["HTTPS_PORT"] = "443";
        });

        var text = (await DocumentBlock.ReadAsync(Document, block))
            .Replace(Kestrel, _application.HttpAddress);
        if (kind == FrontEndKind.Apache)
            text = ApacheModules + text;
        List<(string, string)> additions = [(before, $"{text}\n{before}")];
        if (kind == FrontEndKind.HaProxy)
        {
            const string Rule = "use_backend websockets if { path_beg /_blazor /chat }";
            Assert.Contains(
                $"`{Rule}`",
                await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", Document)));
            additions = [(before, $"\n{text}\n{before}"), ("    default_backend", $"    {Rule}\n    default_backend")];
        }

        _frontEnd = await DocumentedFrontEnd.StartAsync(setup, _folder.Path, _application.EndPoint, [.. additions]);
        return Site.CreateClient(
            $"https://{FrontEndDocument.HostName}:{_frontEnd.EndPoint.Port}", _frontEnd.EndPoint, null, null);
    }
}
