using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.SocketTests.Hosting;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Hosting.Server;

namespace FastCgi.AspNetCore.SocketTests.Status;

[Collection(Alone.Name)]
public sealed class ProbeTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Probe()
    {
        using var r = new PortReservation();
        var p = r.EndPoint.Port;
        using var taken = new TcpListener(IPAddress.Loopback, 0);
        taken.Start();
        var t = ((IPEndPoint)taken.LocalEndpoint).Port;
        var path = _folder.GetPath("app.sock");
        var lines = new StringBuilder();
        foreach (var address in new[] {
            $"http://x@127.0.0.1:{p}", $"http://%31%32%37.0.0.1:{p}", $"http://127.0.0.1\\@x:{p}", $"http://127.0.0.1#:{p}", $"http://127.0.0.1?:{p}", $"http://2130706433:{p}",
            $"http://127.1:{p}", $"http://127.0.0.1:{p}/x", $"http://localhost:0", $"http://127.0.0.1:{t}", $"http://127.0.0.1:1", "http://127.0.0.1", "http://[::1]:" + p, $"http://[::ffff:127.0.0.1]:{p}",
            "", " ", ";", "https://127.0.0.1:1", $"http://127.0.0.1:99999", $"fastcgi://127.0.0.1:{t}", $"fastcgi://unix:{path}", $"fastcgi://unix:/nonexistent/x/y.sock", "fastcgi://fd:0", "fastcgi://fd:name", $"fastcgi://*:{p}",
            $"fastcgi://127.0.0.1:{p};fastcgi://127.0.0.1:{p}", $"fastcgi://127.0.0.1:{p}?bad=1", $"fastcgi://unix:@x{p}", "http://unix:/tmp/x.sock", $"http://127.0.0.1:{p} ", $"HTTP://127.0.0.1:{p}", $"http://127.0.0.1:{p}/" , "http:127.0.0.1:80", "http://", "http://:80", $"http://127.0.0.1:{p}?a=b", $"http://0:{p}", $"http://localhost.:{p}", $"http://١٢٧.0.0.1:{p}", $"http://１２７.0.0.1:{p}", $"http://ⓛocalhost:{p}", $"http://127。0。0。1:{p}"})
        {
            var before = Listening();
            try
            {
                await using var app = await StartAsync(o => o.StatusAddress = address, $"fastcgi://unix:{path}");
                var host = app.Services.GetServices<IHostedService>().OfType<StatusHost>().Single();
                lines.AppendLine($"OK   [{address}] -> {string.Join(",", host.Addresses)} | {string.Join(" ", Listening().Except(before))}");
                var sw = Stopwatch.StartNew();
                await app.StopAsync();
                if (sw.ElapsedMilliseconds > 500) lines.AppendLine("   stop " + sw.ElapsedMilliseconds);
            }
            catch (Exception e)
            {
                lines.AppendLine($"FAIL [{address}] {e.GetType().Name}: {e.Message}");
            }
            if (Listening().Except(before).Any()) lines.AppendLine("   LEFT " + string.Join(" ", Listening().Except(before)));
        }
        File.WriteAllText("/tmp/as_probe.txt", lines.ToString());
    }


    [Theory]
    [InlineData("http", "silent")]
    [InlineData("http", "part")]
    [InlineData("http", "unread")]
    [InlineData("http", "idle")]
    [InlineData("fcgi", "silent")]
    [InlineData("fcgi", "part")]
    [InlineData("fcgi", "unread")]
    [InlineData("fcgi", "idle")]
    public async Task Stop(string kind, string how)
    {
        var path = _folder.GetPath("app.sock");
        var status = $"fastcgi://unix:{_folder.GetPath("status.sock")}";
        await using var app = await StartAsync(o => o.StatusAddress = kind == "http" ? "http://127.0.0.1:0" : status, $"fastcgi://unix:{path}");
        var host = app.Services.GetServices<IHostedService>().OfType<StatusHost>().Single();
        EndPoint ep = kind == "http" ? IPEndPoint.Parse(host.Addresses.Single()[7..]) : new UnixDomainSocketEndPoint(_folder.GetPath("status.sock"));
        using var socket = new Socket(ep.AddressFamily, SocketType.Stream, ProtocolType.Unspecified) { ReceiveBufferSize = 4096 };
        await socket.ConnectAsync(ep);
        var request = kind == "http" ? Encoding.ASCII.GetBytes("GET /?html HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") : RecordBytes.Get(1, "/?html");
        if (how == "part") await socket.SendAsync(request.AsMemory(0, 20));
        if (how == "idle") { await socket.SendAsync(request); var b = new byte[100000]; var sw0 = Stopwatch.StartNew(); while (sw0.ElapsedMilliseconds < 1000) { if (socket.Available > 0) _ = await socket.ReceiveAsync(b); else await Task.Delay(20); } }
        if (how == "unread") { try { using var c = new CancellationTokenSource(3000); for (var i = 0; i < (kind == "http" ? 600 : 1); i++) await socket.SendAsync(kind == "http" ? request : [.. Enumerable.Range(1, 600).SelectMany(n => RecordBytes.Get((ushort)n, "/?html"))], SocketFlags.None, c.Token); } catch (OperationCanceledException) { } }
        await Task.Delay(300);
        var sw = Stopwatch.StartNew();
        await app.StopAsync();
        File.AppendAllText("/tmp/as_stop.txt", $"{kind} {how} stop {sw.ElapsedMilliseconds} ms\n");
    }

    [Theory]
    [InlineData("http://127.0.0.1:0")]
    [InlineData("unix")]
    public async Task Logs(string address)
    {
        using var logs = new CollectedLogs();
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders().AddProvider(logs);
        builder.WebHost.UseFastCgi(o => o.StatusAddress = address == "unix" ? $"fastcgi://unix:{_folder.GetPath("status.sock")}" : address);
        builder.WebHost.UseUrls($"fastcgi://unix:{_folder.GetPath("a.sock")}");
        await using var app = builder.Build();
        app.MapFastCgiStatus("/pol").WithMetadata(new Microsoft.AspNetCore.Authorization.AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
        app.MapFastCgiStatus("/auth").RequireAuthorization();
        await app.StartAsync();
        var pol = await Get("/pol?json");
        var auth = await Get("/auth?json");
        async Task<string> Get(string uri) { using var c = await FastCgiClient.ConnectAsync($"fastcgi://unix:{_folder.GetPath("a.sock")}"); await c.SendAsync(RecordBytes.Get(1, uri)); return Encoding.UTF8.GetString(await c.ReadResponseAsync()); }
        await app.StopAsync();
        File.AppendAllText("/tmp/as_logs.txt", address + "\npol " + pol[..Math.Min(90, pol.Length)] + "\nauth " + auth[..Math.Min(90, auth.Length)] + "\n" + string.Join("\n", logs.All.Select(l => $"{l.Level} {l.Category} {l.EventName}: {l.Message[..Math.Min(150, l.Message.Length)]}")) + "\n");
    }

    [Fact]
    public async Task Spin()
    {
        await using var app = await StartAsync(o => o.StatusAddress = "http://127.0.0.1:0", $"fastcgi://unix:{_folder.GetPath("b.sock")}");
        var host = app.Services.GetServices<IHostedService>().OfType<StatusHost>().Single();
        var ep = IPEndPoint.Parse(host.Addresses.Single()[7..]);
        using (var w = new HttpClient()) await w.GetStringAsync($"http://{ep}/?json");
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        using var socket2 = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        TimeSpan used;
        using (new DescriptorShortage())
        {
            socket.Connect(ep); socket2.Connect(ep);
            var a = Environment.CpuUsage.TotalTime;
            Thread.Sleep(1000);
            used = Environment.CpuUsage.TotalTime - a;
        }
        File.WriteAllText("/tmp/as_spin.txt", used.ToString());
    }

    private static List<string> Listening() => [.. File.ReadAllLines("/proc/net/tcp").Concat(File.ReadAllLines("/proc/net/tcp6")).Where(l => l.Contains(" 0A ")).Select(l => l.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1])];

    private static async Task<WebApplication> StartAsync(Action<FastCgiServerOptions> configure, string url)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi(configure);
        builder.WebHost.UseUrls(url);
        var app = builder.Build();
        app.MapFastCgiStatus();
        app.MapGet("/", static () => "fast");
        try { await app.StartAsync(); } catch { await app.DisposeAsync(); throw; }
        return app;
    }
}
