using System.Globalization;
using System.Net.WebSockets;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The configurations of <c>docs/troubleshooting.md</c> and <c>docs/migration.md</c> do what the text says.</summary>
public sealed class DocumentBlockTests
{
    [Fact]
    public async Task Buffers_OfTheDocument_TakeALargeHead()
    {
        await using var site = new ConfiguredSite();
        await site.StartApplicationAsync(
            site.GetUnixAddress("app.sock"), static app => app.MapGet("/", static (HttpResponse response) =>
            {
                response.Headers["X-Large"] = new string('x', 15_000);
                return "reached";
            }));
        await StartAsync(site, "troubleshooting.md", "nginx buffers", ("/run/hello/app.sock", site.Folder + "/app.sock"));

        Assert.Equal("reached", await GetAsync(site, "/"));
    }

    [Fact]
    public async Task WebSocket_BesideFastCgi_Echoes()
    {
        var builder = WebApplication.CreateBuilder();
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseUrls("fastcgi://127.0.0.1:0", "http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        await using var app = builder.Build();
        app.UseWebSockets();
        app.MapGet("/", static (HttpContext context) => context.WebSockets.IsWebSocketRequest ? "an upgrade" : "reached");
        app.Map("/chat", EchoAsync);
        await app.StartAsync();
        var addresses = app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses;
        string Find(string scheme) => addresses.Single(address => address.StartsWith(scheme, StringComparison.Ordinal))[scheme.Length..];

        await using var site = new ConfiguredSite();
        await StartAsync(site, "migration.md", "nginx websocket", ("127.0.0.1:9000", Find("fastcgi://")), ("127.0.0.1:5000", Find("http://")));

        Assert.Equal("reached", await GetAsync(site, "/"));
        using var client = new ClientWebSocket();
        await client.ConnectAsync(new Uri($"ws://{site.Address}/chat"), CancellationToken.None).WaitAsync(FrontEndTest.Patience);
        await client.SendAsync("hello"u8.ToArray(), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
        var answer = new byte[100];
        var received = await client.ReceiveAsync(answer, CancellationToken.None).WaitAsync(FrontEndTest.Patience);
        Assert.Equal("hello", Encoding.ASCII.GetString(answer, 0, received.Count));
    }

    private static async Task EchoAsync(HttpContext context)
    {
        using var socket = await context.WebSockets.AcceptWebSocketAsync();
        var message = new byte[100];
        var received = await socket.ReceiveAsync(message, CancellationToken.None);
        await socket.SendAsync(message.AsMemory(0, received.Count), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
    }

    private static async Task StartAsync(ConfiguredSite site, string document, string name, params (string Documented, string Actual)[] replacements)
    {
        var port = site.Port.ToString(CultureInfo.InvariantCulture);
        var block = await DocumentBlock.ReadAsync(document, name, [("listen 80;", $"listen 127.0.0.1:{port};"), .. replacements]);
        var frame = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "nginx-frame.conf"));
        // What Debian's package has beside the configuration.
        File.Copy("/etc/nginx/fastcgi_params", Path.Combine(site.Folder, "fastcgi_params"));
        await site.StartServerAsync("site.conf", frame.Replace("{{block}}", block, StringComparison.Ordinal), ["nginx", "-p", site.Folder, "-e", "stderr", "-c"]);
    }

    private static async Task<string> GetAsync(ConfiguredSite site, string path)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, path);
        request.Headers.Host = FrontEndDocument.HostName;
        using var response = await site.Client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }
}
