using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.LifeCycleTests.Harness;

/// <summary>nginx or HAProxy before one or more instances of the application.</summary>
internal sealed class WebServer : IAsyncDisposable
{
    private readonly PortReservation _port = new();
    private readonly string _folder;
    private ServerProcess? _process;

    private WebServer(string folder)
    {
        _folder = folder;
    }

    public IPEndPoint EndPoint => _port.EndPoint;

    /// <summary>What it logged, for the message of a test that fails.</summary>
    public string Log => (File.Exists(LogPath) ? File.ReadAllText(LogPath) : string.Empty) + _process?.Output;

    private string LogPath => Path.Combine(_folder, "error.log");

    /// <summary>Starts nginx with the configuration of these tests.</summary>
    /// <param name="folder">Where its files go.</param>
    /// <param name="instances">Where the instances listen, in nginx's words.</param>
    public static async Task<WebServer> StartNginxAsync(string folder, params string[] instances)
    {
        // With several, one that does not answer is tried again with the next request: a failed connect costs next to nothing here.
        var options = instances.Length > 1 ? " max_fails=0" : string.Empty;
        var server = new WebServer(folder);
        File.Copy(Path.Combine(AppContext.BaseDirectory, "fastcgi_app.conf"), Path.Combine(folder, "fastcgi_app.conf"));
        await server.StartAsync(
            "nginx.conf",
            ("{{servers}}", string.Concat(instances.Select(instance => $"server {instance}{options};"))),
            ("{{port}}", $"{server.EndPoint.Port}"));
        return server;
    }

    /// <summary>Starts a web server with a configuration of the samples.</summary>
    public static async Task<WebServer> StartSampleAsync(string folder, string configuration, string firstInstance, string secondInstance)
    {
        var server = new WebServer(folder);
        await server.StartAsync(
            Path.Combine("scale-out", configuration),
            ("192.0.2.11:9000", firstInstance),
            ("192.0.2.12:9000", secondInstance),
            ("bind :8080", $"bind {server.EndPoint}"),
            ("listen 8080", $"listen {server.EndPoint}"));
        return server;
    }

    public async ValueTask DisposeAsync()
    {
        if (_process is not null)
            await _process.DisposeAsync();
        _port.Dispose();
    }

    private async Task StartAsync(string template, params (string Old, string New)[] replacements)
    {
        var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, template));
        var name = Path.GetFileName(template);
        var path = Path.Combine(_folder, name);
        await File.WriteAllTextAsync(path, replacements.Aggregate(text, static (current, next) => current.Replace(next.Old, next.New, StringComparison.Ordinal)));

        var process = name == "haproxy.cfg"
            ? ServerProcess.Start("haproxy", ["-db", "-f", path], _folder)
            : ServerProcess.Start("nginx", ["-p", _folder, "-c", name, "-e", "error.log", "-g", "daemon off;"], _folder);
        _process = process;
        await Waiting.UntilAsync(AcceptsAsync, () => process.HasExited ? "The web server has ended: " + Log : null, "the web server to listen");
    }

    private async Task<bool> AcceptsAsync()
    {
        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await probe.ConnectAsync(EndPoint);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
