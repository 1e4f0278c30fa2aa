using System.Net.Http.Json;

namespace FastCgi.Client.Tests;

/// <summary>The client against other FastCGI servers.</summary>
public sealed class OtherServersTests(OtherServers servers) : IClassFixture<OtherServers>
{
    /// <summary>A connection for each request, which is the default, and a single keep-alive connection.</summary>
    [Theory, Values("php-fpm", "libfcgi", "go")]
    public async Task Requests_AtTheSameTime_AreAllAnswered(string server)
    {
        foreach (var options in (FastCgiClientOptions?[])[null, new() { KeepConnections = true, MaxConnections = 1 }])
        {
            using var client = new HttpClient(servers.CreateHandler(server, options));
            var answers = Enumerable.Range(0, 60).Select(_ => client.GetStringAsync("http://example.com/"));
            Assert.All(
                await Task.WhenAll(answers).Within("the answers"), static answer => Assert.Equal("GET 0 0", answer));
        }
    }

    [Theory, Values("php-fpm", "libfcgi", "go")]
    public async Task Body_OfAnyKind_ArrivesComplete(string server)
    {
        using var client = new HttpClient(servers.CreateHandler(server));
        var large = new byte[1_000_000];
        new Random(1).NextBytes(large);
        await AssertArrivesAsync(new ByteArrayContent(large), large);
        await AssertArrivesAsync(new StreamContent(new OneWayStream(large)), large);
        await AssertArrivesAsync(new StreamContent(new OneWayStream(large[..100])), large[..100]);
        await AssertArrivesAsync(JsonContent.Create(new[] { 1, 2, 3 }), "[1,2,3]"u8.ToArray());
        using var head = await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "http://example.com/"))
            .Within("HEAD");
        Assert.True(head.IsSuccessStatusCode);
        Assert.Empty(await head.Content.ReadAsByteArrayAsync());

        async Task AssertArrivesAsync(HttpContent content, byte[] body)
        {
            using var response = await client.PostAsync("http://example.com/", content).Within("the answer");
            Assert.Equal(
                $"POST {body.Length} {body.Sum(static value => (long)value)}",
                await response.Content.ReadAsStringAsync());
        }
    }
}
