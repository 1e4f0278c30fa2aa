namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The host in absolute URLs, such as the redirect URIs of a login, which must be exact.</summary>
public sealed class HostTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // Lines of Debian's package, which has not passed the raw Host for a while.
    private const string WithoutPort = "fastcgi_param HTTP_HOST $host;";
    private const string WithPort = "fastcgi_param HTTP_HOST $host$is_request_port$request_port;";

    [Theory, EveryFrontEnd]
    public async Task Host_WithTheDefaultPortOfTheScheme_LacksIt(FrontEndSetup setup)
    {
        var site = await StartAsync(
            setup,
            static app => app.MapFallback(static (HttpRequest request) => $"{request.Host} {request.Headers.Host}"));

        Assert.Equal(
            "hello.example.com hello.example.com",
            await GetAsync(site, $"hello.example.com:{(setup.UsesTls ? 443 : 80)}"));
        Assert.Equal("hello.example.com hello.example.com", await GetAsync(site, "hello.example.com"));
    }

    /// <summary>With only <c>include fastcgi_params;</c>, for each version of Debian's package.</summary>
    [Theory, Values("", WithoutPort, WithPort)]
    public async Task Host_OnAPortOfItsOwn_IsThatOfTheClientOrWarnedOf(string line)
    {
        if (line == WithPort && InstalledVersions.IsBefore(FrontEndKind.Nginx, "1.30"))
            return;

        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
            static app => app.MapFallback(static (HttpRequest request) => request.Host.ToString()),
            more: $"location /plain {{ {await ReadParametersAsync()} {line} fastcgi_pass app; }}"
                + $"location /documented {{ {await ReadParametersAsync()} {line} "
                + "fastcgi_param HTTP_HOST $host:$server_port; fastcgi_pass app; }");
        var host = new Uri(site.Url).Authority;

        Assert.Equal(host, await site.Client.GetStringAsync("/documented"));
        Assert.Empty(site.Log.Find(LogLevel.Warning, "HostWithoutPort"));

        // A client that sends no port causes the same parameters, so the cases cannot be distinguished.
        var isPortLost = line == WithoutPort;
        Assert.Equal(isPortLost ? "127.0.0.1" : host, await site.Client.GetStringAsync("/plain"));
        Assert.Equal(isPortLost, site.Log.Find(LogLevel.Warning, "HostWithoutPort").Any());
    }

    [Fact]
    public async Task Host_NotSentByTheClient_IsTheServersName()
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true, IsDocumented = true },
            static app => app.MapFallback(static (HttpRequest request) => request.Host.ToString()));
        using var client = await site.ConnectAsync();

        await client.SendAsync("GET / HTTP/1.0\r\n\r\n");

        Assert.EndsWith("\r\n\r\nhello.example.com", await client.ReadToEndAsync());
    }

    private static async Task<string> ReadParametersAsync()
        => string.Join('\n', (await File.ReadAllLinesAsync(Programs.NginxParameters))
            .Where(
                static line => line.StartsWith("fastcgi_param", StringComparison.Ordinal)
                    && !line.Contains("HTTP_HOST")));

    private static async Task<string> GetAsync(Site site, string host)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = host;
        using var response = await site.Client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }
}
