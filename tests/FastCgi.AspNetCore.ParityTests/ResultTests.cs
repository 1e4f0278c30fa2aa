namespace FastCgi.AspNetCore.ParityTests;

/// <summary>The results of minimal API handlers.</summary>
public sealed class ResultTests(ParitySites sites) : ParityTest(sites)
{
    [Theory]
    [InlineData("/results/text")]
    [InlineData("/results/html")]
    [InlineData("/results/json")]
    [InlineData("/results/bytes")]
    [InlineData("/results/large")]
    [InlineData("/results/ranged")]
    [InlineData("/results/nothing")]
    [InlineData("/results/status/200")]
    [InlineData("/results/status/204")]
    [InlineData("/results/status/205")]
    [InlineData("/results/status/304")]
    [InlineData("/results/status/404")]
    [InlineData("/results/status/499")]
    [InlineData("/results/reason")]
    [InlineData("/results/created")]
    [InlineData("/results/no-content")]
    [InlineData("/results/redirect?permanent=false&keeps=false")]
    [InlineData("/results/redirect?permanent=true&keeps=true")]
    [InlineData("/results/absolute-redirect")]
    [InlineData("/results/problem")]
    [InlineData("/results/not-modified")]
    [InlineData("/results/events")]
    [InlineData("/results/flushed")]
    [InlineData("/results/unbuffered")]
    [InlineData("/results/headers")]
    [InlineData("/results/cookies")]
    [InlineData("/results/large-header?size=3000")]
    [InlineData("/results/many-headers?count=50")]
    public Task Get_AnyResult_IsTheSame(string target) => CompareAsync(client => client.GetAsync(target));

    [Theory]
    [InlineData("/results/text")]
    [InlineData("/results/bytes")]
    [InlineData("/results/large")]
    [InlineData("/results/ranged")]
    [InlineData("/results/json")]
    public Task Head_AnyResult_IsTheSame(string target)
        => CompareAsync(client => client.SendAsync(new ClientRequest("HEAD", target)));

    [Theory]
    [InlineData("bytes=0-9")]
    [InlineData("bytes=-10")]
    [InlineData("bytes=299990-")]
    [InlineData("bytes=300000-")]
    [InlineData("bytes=0-1,5-6")]
    [InlineData("chars=0-9")]
    public Task Get_Range_IsTheSame(string range) => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("Range", range));
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("Range", range).With("If-Range", "\"large\""));
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("Range", range).With("If-Range", "\"small\""));
    });

    [Fact]
    public Task Get_Conditional_IsTheSame() => CompareAsync(async client =>
    {
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("If-None-Match", "\"large\""));
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("If-None-Match", "\"small\", W/\"large\""));
        await client.SendAsync(ClientRequest.Get("/results/ranged").With("If-Match", "\"small\""));
        await client.SendAsync(
            ClientRequest.Get("/results/ranged").With("If-Modified-Since", "Mon, 06 May 2024 07:08:09 GMT"));
        await client.SendAsync(
            ClientRequest.Get("/results/ranged").With("If-Unmodified-Since", "Sun, 05 May 2024 07:08:09 GMT"));
        await client.SendAsync(new ClientRequest("HEAD", "/results/ranged").With("If-None-Match", "*"));
    });

    [Theory, Values("POST", "OPTIONS", "DELETE")]
    public Task Send_MethodWithoutEndpoint_IsTheSame(string method)
        => CompareAsync(client => client.SendAsync(new ClientRequest(method, "/results/text")));
}
