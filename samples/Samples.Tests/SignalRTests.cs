using System.Net.Http.Json;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json.Nodes;

namespace Samples.Tests;

/// <summary>A chat, by the messages of SignalR's protocol, which end with a record separator.</summary>
public sealed class SignalRTests
{
    private const char End = '\x1e';
    private const string Handshake = "{\"protocol\":\"json\",\"version\":1}\x1e";
    private const string Said = """{"type":1,"target":"Say","arguments":["Ann","Hello"]}""";
    private const string Heard = """{"type":1,"target":"said","arguments":["Ann: Hello"]}""";

    [Fact]
    public async Task Chat_ThroughFastCgi_UsesServerSentEvents()
    {
        await using var sample = await Sample.StartAsync("SignalR");
        using var client = sample.CreateClient();
        var hub = "chat?id=" + await NegotiateAsync(client);
        using var request = new HttpRequestMessage(HttpMethod.Get, hub)
        {
            Headers = { Accept = { new("text/event-stream") } },
        };

        using var events = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        using var reader = new StreamReader(await events.Content.ReadAsStreamAsync());
        foreach (var message in new[] { Handshake, Said + End })
            (await client.PostAsync(hub, new StringContent(message))).EnsureSuccessStatusCode();

        await ReadUntilAsync(Heard, async () => await reader.ReadLineAsync() ?? throw new EndOfStreamException());
        sample.AssertNothingIsWrong();
    }

    [Fact]
    public async Task Chat_HubSentToKestrel_UsesWebSockets()
    {
        await using var sample = await Sample.StartAsync("SignalR", "nginx-websockets.conf");
        using var client = sample.CreateClient();
        using var socket = new ClientWebSocket();

        await socket.ConnectAsync(
            new Uri($"ws://localhost:{sample.Port}/chat?id={await NegotiateAsync(client)}"), CancellationToken.None);
        foreach (var message in new[] { Handshake, Said + End })
            await socket.SendAsync(
                Encoding.UTF8.GetBytes(message), WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);

        var buffer = new byte[4096];
        await ReadUntilAsync(
            Heard,
            async () => Encoding.UTF8.GetString(
                buffer, 0, (await socket.ReceiveAsync(buffer, CancellationToken.None)).Count));
        sample.AssertNothingIsWrong();
    }

    private static async Task<string> NegotiateAsync(HttpClient client)
    {
        using var response = await client.PostAsync("chat/negotiate?negotiateVersion=1", content: null);
        return (string)(await response.Content.ReadFromJsonAsync<JsonNode>())!["connectionToken"]!;
    }

    private static async Task ReadUntilAsync(string text, Func<Task<string>> readAsync)
    {
        while (!(await readAsync().Within(text)).Contains(text, StringComparison.Ordinal))
        {
        }
    }
}
