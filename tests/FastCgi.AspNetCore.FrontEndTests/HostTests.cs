namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The host in absolute URLs, such as the redirect URIs of a login, which must be exact.</summary>
public sealed class HostTests(ITestOutputHelper output) : FrontEndTest(output)
{
    // Recent versions of Debian's package add this line, because they do not pass the raw Host.
    private const string NewLine = "fastcgi_param  HTTP_HOST        $host;";

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
    [Theory, Values(false, true)]
    public async Task Host_OnAPortOfItsOwn_IsThatOfTheClientOrWarnedOf(bool isNew)
    {
        var site = await StartAsync(
            new FrontEndSetup { Kind = FrontEndKind.Nginx, UsesUnixSocket = true },
            static app => app.MapFallback(static (HttpRequest request) => request.Host.ToString()),
            more: $"location /plain {{ {await ReadParametersAsync(isNew)} fastcgi_pass app; }}"
                + $"location /documented {{ {await ReadParametersAsync(isNew)} "
                + "fastcgi_param HTTP_HOST $host:$server_port; fastcgi_pass app; }");
        var host = new Uri(site.Url).Authority;

        Assert.Equal(host, await site.Client.GetStringAsync("/documented"));
        Assert.Empty(site.Log.Find(LogLevel.Warning, "HostWithoutPort"));

        // A client that sends no port causes the same parameters, so the cases cannot be distinguished.
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
            .Where(
                static line => line.StartsWith("fastcgi_param", StringComparison.Ordinal)
                    && !line.Contains("HTTP_HOST", StringComparison.Ordinal));
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
