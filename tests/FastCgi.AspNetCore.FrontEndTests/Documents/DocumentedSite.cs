using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>
/// An application behind a web server that a block of a document configures, with the paths and ports of the test.
/// </summary>
internal sealed partial class DocumentedSite : IAsyncDisposable
{
    // openssl passwd -apr1 -salt abcdefgh secret
    private const string Members = "jane:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

    private readonly ScratchFolder _folder = new();
    private readonly WebServerProcess _server;
    private TestApplication? _application;

    private DocumentedSite() => _server = new WebServerProcess(_folder.Path);

    public CollectedLogs Log => _application!.Log;

    /// <summary>The web server's log: errors, and requests if the block enables them.</summary>
    public string FrontEndLog => _server.Log + Read("app.log");

    /// <param name="block">The name of the block. Its first word is the web server.</param>
    /// <param name="replacements">Text in the block, and its replacement.</param>
    public static async Task<DocumentedSite> StartAsync(
        string document,
        string block,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null,
        params (string Documented, string Actual)[] replacements)
    {
        var site = new DocumentedSite();
        try
        {
            site._application = await TestApplication.StartAsync(
                site._folder.GetAddress(usesUnixSocket: true), configure, configureServer, configureBuilder);
            await site.WriteFilesAsync();
            var text = await DocumentBlock.ReadAsync(document, block, replacements);
            await site.StartFrontEndAsync(block.Split(' ')[0], text);
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    public HttpClient CreateClient() => new(new SocketsHttpHandler { AllowAutoRedirect = false, UseProxy = false })
    {
        BaseAddress = new Uri($"http://localhost:{_server.EndPoint.Port}"),
    };

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        if (_application is not null)
            await _application.DisposeAsync();
        _folder.Dispose();
    }

    [GeneratedRegex(@"(?<=listen |VirtualHost )(\*:)?80\b")]
    private static partial Regex Port();

    [GeneratedRegex(@"(?<=^http://)www\.example\.com:80\b", RegexOptions.Multiline)]
    private static partial Regex CaddyAddress();

    /// <summary>The files that the blocks name.</summary>
    private async Task WriteFilesAsync()
    {
        await WriteAsync("members", Members);
        Directory.CreateDirectory(Path.Combine(_folder.Path, "www"));
        await WriteAsync("www/static.txt", "a file");
        await WriteAsync("www/app", "");
    }

    private async Task StartFrontEndAsync(string frontEnd, string block)
    {
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "Documents", $"{frontEnd}-frame.conf"));
        await WriteAsync("frame.conf", Adapt(frame.Replace("{{block}}", block, StringComparison.Ordinal)));

        (string Program, string[] Arguments) command = frontEnd switch
        {
            "nginx" => ("nginx", ["-p", _folder.Path, "-c", "frame.conf", "-e", "error.log"]),
            "caddy" => ("caddy", ["run", "--config", "frame.conf", "--adapter", "caddyfile"]),
            _ => ("apache2", ["-d", _folder.Path, "-f", "frame.conf", "-D", "FOREGROUND"]),
        };
        await _server.StartAsync(command.Program, command.Arguments);
    }

    /// <summary>Replaces the document's folders and ports with the test's.</summary>
    private string Adapt(string configuration)
    {
        var withPort = Port().Replace(configuration, _server.EndPoint.ToString());
        var adapted = CaddyAddress().Replace(withPort, $"localhost:{_server.EndPoint.Port}")
            .Replace("{{port}}", $"{_server.EndPoint.Port}", StringComparison.Ordinal)
            .Replace("include fastcgi_params;", "include /etc/nginx/fastcgi_params;", StringComparison.Ordinal);
        foreach (var folder in new[] { "/run/app/", "/var/log/nginx/", "/var/log/apache2/" })
            adapted = adapted.Replace(folder, _folder.Path + "/", StringComparison.Ordinal);
        return adapted
            .Replace("/etc/nginx/members", $"{_folder.Path}/members", StringComparison.Ordinal)
            .Replace("/etc/apache2/members", $"{_folder.Path}/members", StringComparison.Ordinal)
            .Replace("/srv/app/www", $"{_folder.Path}/www", StringComparison.Ordinal);
    }

    private Task WriteAsync(string name, string text) => File.WriteAllTextAsync(Path.Combine(_folder.Path, name), text);

    private string Read(string name)
    {
        var path = Path.Combine(_folder.Path, name);
        return File.Exists(path) ? File.ReadAllText(path) : string.Empty;
    }
}
