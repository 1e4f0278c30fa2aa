namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The host that the application builds absolute URLs with: redirect URIs of a login, for example, which have to be exact.</summary>
public sealed class HostTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // What Debian's package has behind the lines that all versions have, since it passes no raw Host.
    private const string NewLine = "fastcgi_param  HTTP_HOST        $host;";

    [Theory, EveryFrontEnd]
    public async Task Host_WithTheDefaultPortOfTheScheme_LacksIt(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, static app => app.MapFallback(static (HttpRequest request) => $"{request.Host} {request.Headers.Host}"));

        Assert.Equal("hello.example.com hello.example.com", await GetAsync(site, $"hello.example.com:{(setup.UsesTls ? 443 : 80)}"));
        Assert.Equal("hello.example.com hello.example.com", await GetAsync(site, "hello.example.com"));
    }

    /// <summary>Without more than <c>include fastcgi_params;</c>, whatever the version of Debian's package.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Host_OnAPortOfItsOwn_IsThatOfTheClientOrWarnedOf(bool isNew)
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
            static app => app.MapFallback(static (HttpRequest request) => request.Host.ToString()),
            more: $"location /plain {{ {await ReadParametersAsync(isNew)} fastcgi_pass app; }}"
                + $"location /documented {{ {await ReadParametersAsync(isNew)} fastcgi_param HTTP_HOST $host:$server_port; fastcgi_pass app; }}");
        var host = new Uri(site.Url).Authority;

        Assert.Equal(host, await site.Client.GetStringAsync("/documented"));
        Assert.Empty(site.Log.Find(LogLevel.Warning, "HostWithoutPort"));

        // The new parameters are those of a client that names no port, so nothing can tell the two cases apart.
        Assert.Equal(isNew ? "127.0.0.1" : host, await site.Client.GetStringAsync("/plain"));
        Assert.Equal(isNew, site.Log.Find(LogLevel.Warning, "HostWithoutPort").Any());
    }

    [Fact]
    public async Task Host_NotSentByTheClient_IsTheServersName()
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true, IsDocumented = true },
            static app => app.MapFallback(static (HttpRequest request) => request.Host.ToString()));
        using var client = await site.ConnectAsync();

        await client.SendAsync("GET / HTTP/1.0\r\n\r\n");

        Assert.EndsWith("\r\n\r\nhello.example.com", await client.ReadToEndAsync(), StringComparison.Ordinal);
    }

    private static async Task<string> ReadParametersAsync(bool isNew)
    {
        var lines = (await File.ReadAllLinesAsync(Programs.NginxParameters))
            .Where(static line => line.StartsWith("fastcgi_param", StringComparison.Ordinal) && !line.Contains("HTTP_HOST", StringComparison.Ordinal));
        return string.Join('\n', isNew ? [.. lines, NewLine] : lines);
    }

    private static async Task<string> GetAsync(Site site, string host)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = host;
        using var response = await site.Client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }
}
