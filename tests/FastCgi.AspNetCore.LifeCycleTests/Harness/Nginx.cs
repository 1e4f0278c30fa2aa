using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.LifeCycleTests.Harness;

/// <summary>nginx before one or more instances of the application.</summary>
internal sealed class Nginx : IAsyncDisposable
{
    private readonly PortReservation _port = new();
    private readonly string _folder;
    private ServerProcess? _process;

    private Nginx(string folder)
    {
        _folder = folder;
    }

    public IPEndPoint EndPoint => _port.EndPoint;

    /// <summary>What it logged, for the message of a test that fails.</summary>
    public string Log => File.ReadAllText(Path.Combine(_folder, "error.log")) + _process?.Output;

    /// <param name="folder">Where its files go.</param>
    /// <param name="instances">Where the instances listen, in nginx's words.</param>
    public static async Task<Nginx> StartAsync(string folder, params string[] instances)
    {
        // With several, one that does not answer is tried again with the next request: a failed connect costs next to nothing here.
        var options = instances.Length > 1 ? " max_fails=0" : string.Empty;
        var nginx = new Nginx(folder);
        var configuration = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "nginx.conf"));
        configuration = configuration
            .Replace("{{servers}}", string.Concat(instances.Select(instance => $"server {instance}{options};")), StringComparison.Ordinal)
            .Replace("{{port}}", $"{nginx.EndPoint.Port}", StringComparison.Ordinal);
        await File.WriteAllTextAsync(Path.Combine(folder, "nginx.conf"), configuration);
        File.Copy(Path.Combine(AppContext.BaseDirectory, "fastcgi_app.conf"), Path.Combine(folder, "fastcgi_app.conf"));

        nginx._process = ServerProcess.Start("nginx", ["-p", folder, "-c", "nginx.conf", "-e", "error.log"]);
        await Waiting.UntilAsync(nginx.AcceptsAsync, () => nginx._process.HasExited ? "nginx has ended: " + nginx.Log : null, "nginx to listen");
        return nginx;
    }

    public async ValueTask DisposeAsync()
    {
        if (_process is not null)
            await _process.DisposeAsync();
        _port.Dispose();
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
