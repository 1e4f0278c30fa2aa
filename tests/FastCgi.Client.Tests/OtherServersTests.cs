using System.Diagnostics;
using System.Net.Http.Json;

namespace FastCgi.Client.Tests;

/// <summary>The client, with its default options, against applications that are not ours.</summary>
public sealed class OtherServersTests(OtherServers servers) : IClassFixture<OtherServers>
{
    private const int Requests = 60;

    /// <summary>php-fpm serves as many connections as it has children: a kept one would block one of three.</summary>
    [Theory]
    [InlineData("php-fpm")]
    [InlineData("libfcgi")]
    [InlineData("go")]
    public async Task Requests_AtTheSameTime_AreAllAnswered(string server)
    {
        var single = new[] { await MeasureAsync(server, false), await MeasureAsync(server, false), await MeasureAsync(server, false) }.Min();
        var normal = new[] { await MeasureAsync(server, null), await MeasureAsync(server, null), await MeasureAsync(server, null) }.Min();

        Assert.True(normal < (1.5 * single) + TimeSpan.FromMilliseconds(200), $"{Requests} requests took {normal}, and {single} with a connection for each.");
    }

    [Theory]
    [InlineData("php-fpm")]
    [InlineData("libfcgi")]
    [InlineData("go")]
    public async Task Body_OfAnyKind_ArrivesComplete(string server)
    {
        using var client = new HttpClient(servers.CreateHandler(server));
        var large = new byte[1_000_000];
        new Random(1).NextBytes(large);
        await AssertArrivesAsync(new ByteArrayContent(large), large);
        await AssertArrivesAsync(new StreamContent(new OneWayStream(large)), large);
        await AssertArrivesAsync(new StreamContent(new OneWayStream(large[..100])), large[..100]);
        await AssertArrivesAsync(JsonContent.Create(new[] { 1, 2, 3 }), "[1,2,3]"u8.ToArray());
        using var head = await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "http://example.com/")).Within("HEAD");
        Assert.True(head.IsSuccessStatusCode);
        Assert.Empty(await head.Content.ReadAsByteArrayAsync());

        async Task AssertArrivesAsync(HttpContent content, byte[] body)
        {
            using var response = await client.PostAsync("http://example.com/", content).Within("the answer");
            Assert.Equal($"POST {body.Length} {body.Sum(static value => (long)value)}", await response.Content.ReadAsStringAsync());
        }
    }

    private async Task<TimeSpan> MeasureAsync(string server, bool? keepsConnections)
    {
        using var client = new HttpClient(servers.CreateHandler(server, new FastCgiClientOptions { KeepConnections = keepsConnections }));
        var begin = Stopwatch.GetTimestamp();
        var answers = await Task.WhenAll(Enumerable.Range(0, Requests).Select(_ => client.GetStringAsync("http://example.com/"))).Within("the answers");
        Assert.All(answers, static answer => Assert.Equal("GET 0 0", answer));
        return Stopwatch.GetElapsedTime(begin);
    }
}
