namespace FastCgi.AspNetCore.ParityTests;

/// <summary>Decisions of middleware before or instead of an endpoint.</summary>
public sealed class PolicyTests(ParitySites sites) : ParityTest(sites)
{
    [Fact]
    public Task Send_AcrossOrigins_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/cors").With("Origin", "https://partner.example"));
        await client.SendAsync(ClientRequest.Get("/cors").With("Origin", "https://stranger.example"));
        await client.SendAsync(new ClientRequest("OPTIONS", "/cors").With("Origin", "https://partner.example")
            .With("Access-Control-Request-Method", "PUT").With("Access-Control-Request-Headers", "x-custom"));
        await client.SendAsync(
            new ClientRequest("OPTIONS", "/cors")
                .With("Origin", "https://partner.example")
                .With("Access-Control-Request-Method", "DELETE"));
        await client.SendAsync(ClientRequest.Post("/cors", "text/plain", "x") with { Method = "PUT" });
    });

    [Theory]
    [InlineData("/slow")]
    [InlineData("/only-https?a=1")]
    public Task Get_Policy_IsTheSame(string target) => CompareAsync(client => client.GetAsync(target));

    [Fact]
    [Contract("T39")]
    public Task Get_ByTls_IsTheSame() => CompareAsync(
        async client =>
        {
            await client.GetAsync("/only-https");
            await client.GetAsync("/links");
            await client.GetAsync("/results/cookies");
            await client.GetAsync("/session/by-tls");
        },
        usesTls: true);

    [Fact]
    [Contract("T37")]
    public Task Get_ForgedForwardedHeaders_AreNotTrusted() => CompareAsync(async client =>
    {
        await client.SendAsync(
            ClientRequest.Get("/echo").With("X-Forwarded-For", "10.0.0.1").With("X-Forwarded-Proto", "https"));
        await client.SendAsync(ClientRequest.Get("/certificate").With("X-Client-Cert", "forged"));
    });

    [Fact]
    public Task Send_Logged_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(
            ClientRequest.Post("/logged?a=1", "text/plain", "the body")
                .With("X-Logged", "in")
                .With("X-Secret", "not logged"));
        await client.SendAsync(ClientRequest.Post("/logged", "application/json", "{}"));
    });
}
