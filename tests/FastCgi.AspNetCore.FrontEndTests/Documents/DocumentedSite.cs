using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>
/// An application behind a web server that a block of a document configures, with the paths and ports of the test.
/// </summary>
internal static partial class DocumentedSite
{
    // openssl passwd -apr1 -salt abcdefgh secret
    private const string Members = "jane:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

    /// <param name="block">The name of the block. Its first word is the web server.</param>
    /// <param name="replacements">Text in the block, and its replacement.</param>
    public static async Task<ConfiguredSite> StartAsync(
        string document,
        string block,
        Action<WebApplication> configure,
        Action<FastCgiServerOptions>? configureServer = null,
        Action<WebApplicationBuilder>? configureBuilder = null,
        params (string Documented, string Actual)[] replacements)
    {
        var site = new ConfiguredSite();
        try
        {
            await site.StartApplicationAsync(
                site.GetUnixAddress("app.sock"), configure, configureServer, configureBuilder);
            await WriteFilesAsync(site.Folder);
            var text = await DocumentBlock.ReadAsync(document, block, replacements);
            await StartFrontEndAsync(site, block.Split(' ')[0], text);
            return site;
        }
        catch
        {
            await site.DisposeAsync();
            throw;
        }
    }

    [GeneratedRegex(@"(?<=listen |VirtualHost )(\*:)?80\b")]
    private static partial Regex Port();

    [GeneratedRegex(@"(?<=^http://)www\.example\.com:80\b", RegexOptions.Multiline)]
    private static partial Regex CaddyAddress();

    /// <summary>The files that the blocks name.</summary>
    private static async Task WriteFilesAsync(string folder)
    {
        await File.WriteAllTextAsync(folder + "/members", Members);
        Directory.CreateDirectory(folder + "/www");
        await File.WriteAllTextAsync(folder + "/www/static.txt", "a file");
        await File.WriteAllTextAsync(folder + "/www/app", "");
    }

    private static async Task StartFrontEndAsync(ConfiguredSite site, string frontEnd, string block)
    {
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "Documents", $"{frontEnd}-frame.conf"));
        string[] command = frontEnd switch
        {
            "nginx" => ["nginx", "-p", site.Folder, "-e", "error.log", "-c"],
            "caddy" => ["caddy", "run", "--adapter", "caddyfile", "--config"],
            _ => ["apache2", "-d", site.Folder, "-D", "FOREGROUND", "-f"],
        };
        await site.StartServerAsync("frame.conf", Adapt(site, frame.Replace("{{block}}", block)), command);
    }

    /// <summary>Replaces the document's folders and ports with the test's.</summary>
    private static string Adapt(ConfiguredSite site, string configuration)
    {
        var withPort = Port().Replace(configuration, site.Address);
        var adapted = CaddyAddress().Replace(withPort, $"localhost:{site.Port}")
            .Replace("{{port}}", $"{site.Port}")
            .Replace("include fastcgi_params;", "include /etc/nginx/fastcgi_params;");
        foreach (var folder in new[] { "/run/app/", "/var/log/nginx/", "/var/log/apache2/" })
            adapted = adapted.Replace(folder, site.Folder + "/");
        return adapted
            .Replace("/etc/nginx/members", site.Folder + "/members")
            .Replace("/etc/apache2/members", site.Folder + "/members")
            .Replace("/srv/app/www", site.Folder + "/www");
    }
}
