namespace FastCgi.AspNetCore.ParityTests;

/// <summary>The text of a request: methods, targets, headers, hosts, bodies with limits.</summary>
public sealed class RequestTests(ParitySites sites) : ParityTest(sites)
{
    [Theory]
    [InlineData("/echo")]
    [InlineData("/echo/a//b")]
    [InlineData("/echo/%C3%BC/%E2%82%AC")]
    [InlineData("/echo/a%2Fb%2fc")]
    [InlineData("/echo/a?x=1&x=2&=y&z&%20=%3D")]
    [InlineData("/echo/a?text=%C3%BC&plus=a+b&broken=%zz")]
    [InlineData("/base/echo/below")]
    [InlineData("/BASE/echo/below")]
    [InlineData("/based/echo")]
    public Task Get_Target_AsOnKestrel(string target) => CompareAsync(client => client.GetAsync(target));

    [Theory, Values("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "CUSTOM")]
    public Task Send_Method_AsOnKestrel(string method)
        => CompareAsync(client => client.SendAsync(new ClientRequest(method, "/echo")));

    [Theory, Values("GET", "POST", "PUT", "DELETE", "CUSTOM")]
    [Contract("E8", "T1")]
    public Task Send_MethodWithBody_AsOnKestrel(string method) => CompareAsync(async client =>
    {
        var request = ClientRequest.Post("/echo", "text/plain", "the body") with { Method = method };
        await client.SendAsync(request);
        await client.SendAsync(request with { IsChunked = true });
        await client.SendAsync(request with { Body = [] });
        await client.SendAsync(request with { Body = [], IsChunked = true });
    });

    [Fact]
    public Task Get_Headers_AsOnKestrel() => CompareAsync(client => client.SendAsync(ClientRequest.Get("/echo")
        .With("Accept", "text/html, */*;q=0.1")
            .With("Accept-Language", "de")
            .With("Authorization", "Bearer token")
            .With("DNT", "1")
        .With("If-None-Match", "\"a\"")
            .With("Origin", "https://elsewhere.example")
            .With("Referer", "https://elsewhere.example/ü")
        .With("Sec-Fetch-Mode", "navigate")
            .With("TE", "trailers")
            .With("Upgrade-Insecure-Requests", "1")
            .With("X-Custom", "a b\tc")
        .With("X-Forwarded-For", "1.2.3.4")
            .With("X-Forwarded-Host", "forged.example")
            .With("X-Request-ID", "id")
            .With("X-UPPER", "u")
        .With("Via", "1.1 cache").With("Cache-Control", "no-cache").With("Content-Language", "en")));

    [Fact]
    public Task Get_RepeatedHeaders_AsOnKestrel()
        => CompareAsync(client => client.SendAsync(ClientRequest.Get("/echo?repeated")
        .With("X-Twice", "one").With("X-Twice", "two, three").With(
            "Accept", "a/b").With("Accept", "c/d").With("Cookie", "a=1").With("Cookie", "b=2")));

    [Theory]
    [InlineData("other.example")]
    [InlineData("other.example:8080")]
    [InlineData("127.0.0.1")]
    [InlineData("[::1]:5000")]
    [InlineData("xn--bcher-kva.example")]
    [InlineData("UPPER.example")]
    [Contract("T38")]
    public Task Get_Host_AsOnKestrel(string host)
        => CompareAsync(client => client.SendAsync(ClientRequest.Get("/echo").With("Host", host)));

    [Fact]
    public Task Get_Http10_AsOnKestrel() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/echo") with { Version = "HTTP/1.0" });
        await client.SendAsync(ClientRequest.Get("/results/flushed") with { Version = "HTTP/1.0" });
    });

    [Theory]
    [InlineData("/body/small", 100)]
    [InlineData("/body/small", 101)]
    [InlineData("/body/any-size", 1_000_000)]
    [InlineData("/body/own-limit", 50)]
    [InlineData("/body/own-limit", 51)]
    [InlineData("/body/caught", 51)]
    public Task Post_LimitedBody_IsTheSame(string target, int length) => CompareAsync(
        client => client.SendAsync(ClientRequest.Post(target, "text/plain", new string('x', length))));

    [Theory]
    [InlineData("/body/small", 101)]
    [InlineData("/body/own-limit", 51)]
    [InlineData("/body/caught", 51)]
    public Task Post_LimitedBodyInChunks_IsTheSame(string target, int length) => CompareAsync(
        client => client.SendAsync(
            ClientRequest.Post(target, "text/plain", new string('x', length)) with { IsChunked = true }));

    [Fact]
    [Contract("C12")]
    public Task Post_ExpectContinue_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Post("/echo", "text/plain", "the body") with { ExpectsContinue = true });
        await client.SendAsync(
            ClientRequest.Post("/body/unread", "text/plain", "the body") with { ExpectsContinue = true });
    });
}
