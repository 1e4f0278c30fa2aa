using FastCgi.Tool.Tests.Harness;
using Microsoft.Extensions.Hosting;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// The configuration that the server logs in Development works unchanged, except for the web server's port.
/// </summary>
public sealed class WebServerBlockTests
{
    public static TheoryData<string, bool, string> Cases => new()
    {
        { "nginx", true, "" },
        { "nginx", false, "" },
        { "nginx", true, "/app" },
        { "Apache", true, "" },
        { "Apache", false, "" },
        { "Apache", true, "/app" },
    };

    [Theory, MemberData(nameof(Cases))]
    public async Task Development_BlockOfTheLog_ServesTheApplication(
        string webServer, bool usesUnixSocket, string pathBase)
    {
        Programs.Require(webServer == "nginx" ? "nginx" : "apache2");
        await using var site = new ConfiguredSite();
        var application = await site.StartApplicationAsync(
            usesUnixSocket ? site.GetUnixAddress("app.sock") : "fastcgi://127.0.0.1:0",
            static app => app.MapFallback(
                static (HttpContext context) =>
                {
                    var request = context.Request;
                    context.Response.Headers.ETag = "\"v1\"";
                    return Results.Text(
                        $"{request.PathBase.Value} {request.Path.Value} {request.Headers.Authorization}", "text/css");
                }),
            options => options.PathBase = pathBase,
            static builder =>
            {
                builder.Environment.EnvironmentName = Environments.Development;
                builder.Services.AddSingleton<IHostEnvironment>(builder.Environment);
            });

        var line = Assert.Single(
            application.Log.Find(LogLevel.Information, "WebServerFound"),
            line => line.StartsWith(webServer, StringComparison.Ordinal));
        var port = site.Port.ToString(CultureInfo.InvariantCulture);
        var logged = line[line.IndexOf("\n\n", StringComparison.Ordinal)..];
        var file = Path.Combine(site.Folder, "logged.conf");
        await File.WriteAllTextAsync(file, logged);
        // The path base is set in the application.
        var findings = (await ToolRun.RunAsync("doctor", file, "--no-connect")).Out;
        Assert.EndsWith($": 0 problems, {(pathBase.Length > 0 ? "1 note" : "0 notes")}\n", findings);
        var block = logged
            .Replace("listen [::]:80;", $"listen [::1]:{port};")
            .Replace("listen 80;", $"listen 127.0.0.1:{port};")
            .Replace("*:80>", $"*:{port}>");
        var (frame, command) = webServer == "nginx"
            ? ("nginx-frame.conf", new[] { "nginx", "-p", site.Folder, "-e", "stderr", "-c" })
            : ("apache-frame.conf", ["apache2", "-X", "-d", site.Folder, "-f"]);
        // Debian's package installs it next to the configuration.
        File.Copy(Programs.NginxParameters, Path.Combine(site.Folder, "fastcgi_params"));
        var text = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", frame));
        await site.StartServerAsync("site.conf", text.Replace("{{block}}", block).Replace("{{port}}", port), command);

        using var request = new HttpRequestMessage(HttpMethod.Get, pathBase + "/a%20b");
        request.Headers.Host = "localhost";
        request.Headers.TryAddWithoutValidation("Authorization", "Bearer token");
        using var response = await site.Client.SendAsync(request);
        Assert.Equal($"{pathBase} /a b Bearer token", await response.Content.ReadAsStringAsync());

        using var compressing = new HttpRequestMessage(HttpMethod.Get, pathBase + "/");
        compressing.Headers.Host = "localhost";
        compressing.Headers.AcceptEncoding.ParseAdd("gzip");
        using var compressed = await site.Client.SendAsync(compressing);
        Assert.Equal(
            (webServer == "nginx" ? "" : "gzip", "\"v1\""),
            (string.Concat(compressed.Content.Headers.ContentEncoding), $"{compressed.Headers.ETag}"));
    }
}
