namespace FastCgi.AspNetCore.ParityTests;

/// <summary>State between requests: sessions, users, caches, counts.</summary>
public sealed class StateTests(ParitySites sites) : ParityTest(sites)
{
    [Fact]
    public Task Get_Session_IsTheSame() => CompareAsync(async client =>
    {
        await client.GetAsync("/session/first");
        await client.GetAsync("/session/second");
        client.Disconnect();
        await client.GetAsync("/session/first");
    });

    [Fact]
    public Task Get_ByUserOfACookie_IsTheSame() => CompareAsync(async client =>
    {
        await client.GetAsync("/me");
        await client.SendAsync(new ClientRequest("POST", "/sign-in?name=Ada%20%C3%BC") { Body = [] });
        await client.GetAsync("/me");
        await client.GetAsync("/admin");
        await client.SendAsync(new ClientRequest("POST", "/sign-in?name=root&role=admin") { Body = [] });
        await client.GetAsync("/admin");
        await client.SendAsync(new ClientRequest("POST", "/sign-out") { Body = [] });
        await client.GetAsync("/me");
    });

    [Fact]
    public Task Get_ByUserOfACertificate_IsTheSame()
        => CompareAsync(CallByCertificateAsync, usesTls: true, sendsCertificate: true);

    [Fact]
    public Task Get_WithoutCertificate_IsTheSame() => CompareAsync(CallByCertificateAsync, usesTls: true);

    [Fact]
    public Task Get_CertificateWithoutTls_IsTheSame() => CompareAsync(CallByCertificateAsync);

    [Fact]
    public Task Get_OutputCache_IsTheSame() => CompareAsync(async client =>
    {
        await client.GetAsync("/output-cache?key=1");
        await client.GetAsync("/output-cache?key=1&other=1");
        await client.GetAsync("/output-cache?key=2");
        await client.SendAsync(ClientRequest.Get("/output-cache?key=1").With("If-None-Match", "\"cached\""));
        await client.SendAsync(new ClientRequest("HEAD", "/output-cache?key=1"));
        await client.SendAsync(new ClientRequest("POST", "/output-cache/evict") { Body = [] });
        await client.GetAsync("/output-cache?key=1");
    });

    [Fact]
    public Task Get_ResponseCache_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/response-cache").With("Accept-Language", "en"));
        await client.SendAsync(ClientRequest.Get("/response-cache").With("Accept-Language", "en"));
        await client.SendAsync(ClientRequest.Get("/response-cache").With("Accept-Language", "de"));
        await client.SendAsync(
            ClientRequest.Get("/response-cache").With("Accept-Language", "en").With("Cache-Control", "no-cache"));
        await client.SendAsync(new ClientRequest("HEAD", "/response-cache").With("Accept-Language", "en"));
        await client.SendAsync(
            ClientRequest.Get("/response-cache").With("Accept-Language", "fr").With("Cache-Control", "only-if-cached"));
    });

    [Fact]
    public Task Get_MoreOftenThanAllowed_IsTheSame() => CompareAsync(async client =>
    {
        foreach (var address in (string[])["127.0.0.3", "127.0.0.4"])
        {
            client.ClientAddress = IPAddress.Parse(address);
            for (var i = 0; i < 3; i++)
                await client.GetAsync("/limited");
        }
    });

    private static async Task CallByCertificateAsync(Conversation client)
    {
        await client.GetAsync("/certificate");
        await client.GetAsync("/echo");
    }
}
