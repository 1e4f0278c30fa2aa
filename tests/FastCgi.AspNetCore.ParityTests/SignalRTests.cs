using System.Text.Json.Nodes;
using FastCgi.AspNetCore.ParityTests.SignalRClient;

namespace FastCgi.AspNetCore.ParityTests;

/// <summary>SignalR, with its own JavaScript client.</summary>
[Collection(nameof(ParitySites))]
public sealed class SignalRTests(ParitySites sites) : IClassFixture<NodeClient>
{
    [Theory, Values(SiteKind.FastCgiBehindNginx, SiteKind.FastCgiBehindApache)]
    [Contract("T2")]
    public async Task Negotiate_OffersWhatWorks(SiteKind kind)
    {
        using var client = new Conversation(GetSite(kind), tls: null);

        var response = await client.SendAsync(
            new ClientRequest("POST", "/chat/negotiate?negotiateVersion=1") { Body = [] });

        var transports = JsonNode.Parse(response.Text)!["availableTransports"]!.AsArray();
        Assert.Equal(
            ["ServerSentEvents", "LongPolling"], transports.Select(transport => (string?)transport!["transport"]));
    }

    [Theory]
    [InlineData("ServerSentEvents", SiteKind.FastCgiBehindNginx)]
    [InlineData("ServerSentEvents", SiteKind.FastCgiBehindApache)]
    [InlineData("LongPolling", SiteKind.FastCgiBehindNginx)]
    [InlineData("LongPolling", SiteKind.FastCgiBehindApache)]
    public async Task Chat_OverATransport_IsTheSame(string transport, SiteKind kind)
    {
        var expected = await NodeClient.ChatAsync(GetSite(SiteKind.Kestrel).Http, transport);

        var actual = await NodeClient.ChatAsync(GetSite(kind).Http, transport);

        Assert.StartsWith($"transport: \"{transport}Transport\"\n", actual);
        Assert.Equal(expected, actual);
    }

    [Theory, Values(SiteKind.FastCgiBehindNginx, SiteKind.FastCgiBehindApache)]
    public async Task Chat_OverTheBestTransport_UsesServerSentEvents(SiteKind kind)
    {
        var output = await NodeClient.ChatAsync(GetSite(kind).Http, transport: null);

        Assert.StartsWith("transport: \"ServerSentEventsTransport\"\n", output);
        Assert.EndsWith("closed: null\n", output);
    }

    private Site GetSite(SiteKind kind) => sites.All.Single(site => site.Kind == kind);
}
