namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The configurations in <c>docs/troubleshooting.md</c> do what the text says.</summary>
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
        var port = site.Port.ToString(CultureInfo.InvariantCulture);
        var block = await DocumentBlock.ReadAsync(
            "troubleshooting.md",
            "nginx buffers",
            [("listen 80;", $"listen 127.0.0.1:{port};"), ("/run/hello/app.sock", site.Folder + "/app.sock")]);
        var frame = await File.ReadAllTextAsync(
            Path.Combine(AppContext.BaseDirectory, "Documents", "nginx-frame.conf"));
        // Debian's package installs it next to the configuration.
        File.Copy(Programs.NginxParameters, Path.Combine(site.Folder, "fastcgi_params"));
        await site.StartServerAsync(
            "site.conf",
            frame.Replace("{{block}}", block, StringComparison.Ordinal),
            ["nginx", "-p", site.Folder, "-e", "stderr", "-c"]);

        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = FrontEndDocument.HostName;
        using var response = await site.Client.SendAsync(request);
        Assert.Equal("reached", await response.Content.ReadAsStringAsync());
    }
}
