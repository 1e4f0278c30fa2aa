namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>nginx or HAProxy before one or more instances of the application.</summary>
internal sealed class WebServer : IAsyncDisposable
{
    // The folders below /var/lib/nginx are made by the first nginx that root starts on a machine; nobody else may.
    private const string TemporaryFolders = "client_body_temp_path body; fastcgi_temp_path fastcgi; proxy_temp_path proxy; scgi_temp_path scgi; uwsgi_temp_path uwsgi;";

    private readonly string _folder;
    private readonly WebServerProcess _process;

    private WebServer(string folder)
    {
        _folder = folder;
        _process = new WebServerProcess(folder);
    }

    public IPEndPoint EndPoint => _process.EndPoint;

    /// <summary>What it logged, for the message of a test that fails.</summary>
    public string Log => _process.Log;

    /// <summary>Starts nginx with the configuration of these tests.</summary>
    /// <param name="folder">Where its files go.</param>
    /// <param name="instances">Where the instances listen, in nginx's words.</param>
    public static async Task<WebServer> StartNginxAsync(string folder, params string[] instances)
    {
        // With several, one that does not answer is tried again with the next request: a failed connect costs next to nothing here.
        var options = instances.Length > 1 ? " max_fails=0" : string.Empty;
        var server = new WebServer(folder);
        File.Copy(Path.Combine(AppContext.BaseDirectory, "FrontEnds", "fastcgi_app.conf"), Path.Combine(folder, "fastcgi_app.conf"));
        await server.StartAsync(
            "nginx.conf",
            ("{{servers}}", string.Concat(instances.Select(instance => $"server {instance}{options};"))),
            ("{{port}}", $"{server.EndPoint.Port}"));
        return server;
    }

    public static async Task<WebServer> StartSampleAsync(string folder, string configuration, string firstInstance, string secondInstance)
    {
        var server = new WebServer(folder);
        await server.StartAsync(
            Path.Combine("scale-out", configuration),
            ("http {", $"http {{ {TemporaryFolders}"),
            ("192.0.2.11:9000", firstInstance),
            ("192.0.2.12:9000", secondInstance),
            ("bind :8080", $"bind {server.EndPoint}"),
            ("listen 8080", $"listen {server.EndPoint}"));
        return server;
    }

    public ValueTask DisposeAsync() => _process.DisposeAsync();

    private async Task StartAsync(string template, params (string Old, string New)[] replacements)
    {
        var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, template));
        var name = Path.GetFileName(template);
        var path = Path.Combine(_folder, name);
        await File.WriteAllTextAsync(path, replacements.Aggregate(text, static (current, next) => current.Replace(next.Old, next.New, StringComparison.Ordinal)));

        if (name == "haproxy.cfg")
            await _process.StartAsync("haproxy", ["-db", "-f", path]);
        else
            await _process.StartAsync("nginx", ["-p", _folder, "-c", name, "-e", "error.log", "-g", "daemon off;"]);
    }
}
