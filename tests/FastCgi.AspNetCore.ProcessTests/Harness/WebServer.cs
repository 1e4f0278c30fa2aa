namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>nginx or HAProxy in front of one or more instances of the application.</summary>
internal sealed class WebServer : IAsyncDisposable
{
    // Only root can create the folders below /var/lib/nginx, by starting nginx.
    private const string TemporaryFolders =
        "client_body_temp_path body; fastcgi_temp_path fastcgi; proxy_temp_path proxy; scgi_temp_path scgi; "
            + "uwsgi_temp_path uwsgi;";

    private readonly string _folder;
    private readonly WebServerProcess _process;

    private WebServer(string folder)
    {
        _folder = folder;
        _process = new WebServerProcess(folder);
    }

    public IPEndPoint EndPoint => _process.EndPoint;

    /// <summary>Its log, for the message of a failing test.</summary>
    public string Log => _process.Log;

    /// <summary>Starts nginx with the configuration of these tests.</summary>
    /// <param name="folder">Where its files go.</param>
    /// <param name="instance">The address of the application, in nginx's syntax.</param>
    public static async Task<WebServer> StartNginxAsync(string folder, string instance)
    {
        var server = new WebServer(folder);
        File.Copy(
            Path.Combine(AppContext.BaseDirectory, "FrontEnds", "fastcgi_app.conf"),
            Path.Combine(folder, "fastcgi_app.conf"));
        await server.StartAsync(
            "nginx.conf",
            ("{{servers}}", $"server {instance};"),
            ("{{port}}", $"{server.EndPoint.Port}"));
        return server;
    }

    /// <summary>Starts a web server with a configuration of the samples.</summary>
    public static async Task<WebServer> StartSampleAsync(
        string folder, string configuration, params IEnumerable<IPEndPoint> instances)
    {
        var server = new WebServer(folder);
        await server.StartAsync(
            Path.Combine("scale-out", configuration),
            [
                ("http {", $"http {{ {TemporaryFolders}"),
                ("bind :8080", $"bind {server.EndPoint}"),
                ("listen 8080", $"listen {server.EndPoint}"),
                .. instances.Select(static (instance, index) => ($"192.0.2.{11 + index}:9000", $"{instance}")),
            ]);
        return server;
    }

    /// <summary>Checks the configuration of a site with nginx.</summary>
    /// <returns>The errors in it.</returns>
    public static async Task<string> CheckNginxAsync(string folder, string site)
    {
        File.Copy(Programs.NginxParameters, Path.Combine(folder, "fastcgi_params"));
        await File.WriteAllTextAsync(
            Path.Combine(folder, "nginx.conf"),
            $"pid nginx.pid; events {{ }} http {{ access_log off; {TemporaryFolders}\n{site} }}");
        await using var check = Starter.Start("nginx", "-t", "-q", "-p", folder, "-c", "nginx.conf", "-e", "error.log");
        return await check.WaitForExitAsync() == 0 ? "" : check.Output;
    }

    public ValueTask DisposeAsync() => _process.DisposeAsync();

    private async Task StartAsync(string template, params (string Old, string New)[] replacements)
    {
        var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, template));
        var name = Path.GetFileName(template);
        var path = Path.Combine(_folder, name);
        await File.WriteAllTextAsync(
            path,
            replacements.Aggregate(text, static (current, next) => current.Replace(next.Old, next.New)));

        if (name == "haproxy.cfg")
            await _process.StartAsync("haproxy", ["-db", "-f", path]);
        else
            await _process.StartAsync("nginx", ["-p", _folder, "-c", name, "-e", "error.log", "-g", "daemon off;"]);
    }
}
