namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>
/// The load balancer configurations in <c>docs/front-ends</c>, with a real load balancer: the web server trusts it, and
/// only it, for the client's address and scheme.
/// </summary>
public sealed class LoadBalancerTests(ITestOutputHelper output) : FrontEndTest(output)
{
    private static readonly IPAddress s_clientOfBalancer = IPAddress.Parse("127.0.0.5");
    private static readonly IPAddress s_directClient = IPAddress.Parse("127.0.0.6");

    private static readonly (string Name, string Value)[] s_forged =
    [
        ("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "{0}"), ("X-Forwarded-Host", "evil.example.com"),
        ("X-Forwarded-Port", "1234"),
        ("Forwarded", "for=203.0.113.7;proto={0};host=evil.example.com"), ("X-Real-IP", "203.0.113.7"), ("HTTPS", "on"),
        ("Remote-Addr", "203.0.113.7"),
    ];

    public static TheoryData<FrontEndKind> Kinds => DocumentTests.Kinds;

    [Theory, MemberData(nameof(Kinds))]
    public async Task Request_ThroughTheBalancerOrPastIt_HasTheTrueAddressAndScheme(FrontEndKind kind)
    {
        var (site, balancer) = await StartAsync(kind);
        await using (balancer)
        {
            using var through = Site.CreateClient(
                $"https://hello.example.com:{balancer.EndPoint.Port}", balancer.EndPoint, null, s_clientOfBalancer);
            using var past = site.CreateClient(clientCertificate: null, s_directClient);
            foreach (var forgedScheme in new[] { null, "http", "https" })
            {
                Assert.Equal("https hello.example.com 127.0.0.5", await GetAsync(through, forgedScheme));
                Assert.Equal("http hello.example.com 127.0.0.6", await GetAsync(past, forgedScheme));
            }
        }
    }

    /// <summary>Azure's gateway adds the port.</summary>
    [Theory]
    [InlineData("198.51.100.1:80, 203.0.113.7:51656", "203.0.113.7 51656")]
    [InlineData("[2001:db8::7]:443, ", "2001:db8::7 443")]
    public async Task Caddy_BalancerAddsPort_ClientHasAddressAndPort(string forwardedFor, string client)
    {
        var site = await StartAsync(
            new FrontEndSetup
            {
                Kind = FrontEndKind.Caddy,
                UsesUnixSocket = true,
                IsDocumented = true,
                IsBehindBalancer = true,
            },
            static app => app.MapGet(
                "/",
                static (HttpContext context) =>
                    $"{context.Connection.RemoteIpAddress} {context.Connection.RemotePort}"));
        using var balancer = site.CreateClient(clientCertificate: null, Balancer.Address);
        balancer.DefaultRequestHeaders.Add("X-Forwarded-For", forwardedFor);

        Assert.Equal(client, await balancer.GetStringAsync("/"));
    }

    private async Task<(Site Site, FrontEnd Balancer)> StartAsync(FrontEndKind kind)
    {
        var setup = new FrontEndSetup
        {
            Kind = kind,
            UsesUnixSocket = kind != FrontEndKind.HaProxy,
            IsDocumented = true,
            IsBehindBalancer = true,
        };
        var site = await StartAsync(setup, static app => app.MapGet("/", static (HttpContext context) =>
            $"{context.Request.Scheme} {context.Request.Host} {context.Connection.RemoteIpAddress}"));
        await TestCertificates.WriteAsync(site.Folder.Path);
        return (site, await Balancer.StartAsync(setup, site.Folder.Path, site.FrontEnd.EndPoint));
    }

    private static async Task<string> GetAsync(HttpClient client, string? forgedScheme)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Host = FrontEndDocument.HostName;
        foreach (var (name, value) in forgedScheme is null ? [] : s_forged)
            request.Headers.Add(name, value.Replace("{0}", forgedScheme));
        using var response = await client.SendAsync(request);
        return await response.Content.ReadAsStringAsync();
    }
}
