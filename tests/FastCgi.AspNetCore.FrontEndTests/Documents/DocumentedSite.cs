using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>
/// An application behind a web server that a block of a document configures, with the paths and ports of the test.
/// </summary>
internal sealed partial class DocumentedSite : IAsyncDisposable
{
    // openssl passwd -apr1 -salt abcdefgh secret
    private const string Members = "jane:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

    private readonly ConfiguredSite _site = new();
    private TestApplication? _application;

    private DocumentedSite()
    {
    }

    public CollectedLogs Log => _application!.Log;

    /// <summary>The web server's log: errors, and requests if the block enables them.</summary>
    public string FrontEndLog
        => _site.FrontEndLog + (File.Exists(GetPath("app.log")) ? File.ReadAllText(GetPath("app.log")) : "");

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
            site._application = await site._site.StartApplicationAsync(
                site._site.GetUnixAddress("app.sock"), configure, configureServer, configureBuilder);
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
        BaseAddress = new Uri($"http://localhost:{_site.Port}"),
    };

    public ValueTask DisposeAsync() => _site.DisposeAsync();

    [GeneratedRegex(@"(?<=listen |VirtualHost )(\*:)?80\b")]
    private static partial Regex Port();

    [GeneratedRegex(@"(?<=^http://)www\.example\.com:80\b", RegexOptions.Multiline)]
    private static partial Regex CaddyAddress();

    /// <summary>The files that the blocks name.</summary>
    private async Task WriteFilesAsync()
    {
        await WriteAsync("members", Members);
        Directory.CreateDirectory(GetPath("www"));
        await WriteAsync("www/static.txt", "a file");
        await WriteAsync("www/app", "");
    }

    private async Task StartFrontEndAsync(string frontEnd, string block)
    {
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "Documents", $"{frontEnd}-frame.conf"));
        string[] command = frontEnd switch
        {
            "nginx" => ["nginx", "-p", _site.Folder, "-e", "error.log", "-c"],
            "caddy" => ["caddy", "run", "--adapter", "caddyfile", "--config"],
            _ => ["apache2", "-d", _site.Folder, "-D", "FOREGROUND", "-f"],
        };
        await _site.StartServerAsync("frame.conf", Adapt(frame.Replace("{{block}}", block)), command);
    }

    /// <summary>Replaces the document's folders and ports with the test's.</summary>
    private string Adapt(string configuration)
    {
        var withPort = Port().Replace(configuration, _site.Address);
        var adapted = CaddyAddress().Replace(withPort, $"localhost:{_site.Port}")
            .Replace("{{port}}", $"{_site.Port}")
            .Replace("include fastcgi_params;", "include /etc/nginx/fastcgi_params;");
        foreach (var folder in new[] { "/run/app/", "/var/log/nginx/", "/var/log/apache2/" })
            adapted = adapted.Replace(folder, _site.Folder + "/");
        return adapted
            .Replace("/etc/nginx/members", GetPath("members"))
            .Replace("/etc/apache2/members", GetPath("members"))
            .Replace("/srv/app/www", GetPath("www"));
    }

    private Task WriteAsync(string name, string text) => File.WriteAllTextAsync(GetPath(name), text);

    private string GetPath(string name) => Path.Combine(_site.Folder, name);
}
