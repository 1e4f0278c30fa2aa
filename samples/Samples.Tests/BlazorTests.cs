using System.Net.Http.Json;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Samples.Tests;

public sealed partial class BlazorTests
{
    /// <summary>
    /// In Chromium, by its own protocol: each click is a message to the server, and each change a message from it.
    /// </summary>
    [Theory]
    [InlineData("nginx.conf", "http", false)]
    [InlineData("nginx-websockets.conf", "https", true)]
    public async Task Counter_Clicked_CountsOnTheServer(string configuration, string scheme, bool usesWebSockets)
    {
        await using var sample = await Sample.StartAsync("Blazor", configuration);
        using var folder = new ScratchFolder();
        await using var chromium = ServerProcess.Start(
            "chromium",
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
                "--ignore-certificate-errors", $"--user-data-dir={folder.Path}/browser", "about:blank",
            ],
            folder.Path);
        using var page = await OpenAsync(chromium, $"{scheme}://localhost:{sample.Port}/counter");

        // A click before the circuit is there has no effect.
        await Waiting.UntilAsync(
            async () => await EvaluateAsync(
                page, "document.querySelector('button')?.click(); document.querySelector('p')?.textContent") is { } text
                && text != "Count: 0",
            static () => null,
            "the count");

        // A browser does not list WebSockets among the resources.
        var requests = await EvaluateAsync(page, "String(performance.getEntriesByType('resource').filter(entry => entry.name.includes('/_blazor?id=')).length)");
        Assert.Equal(usesWebSockets, requests == "0");
        sample.AssertNothingIsWrong();
    }

    private static async Task<ClientWebSocket> OpenAsync(ServerProcess chromium, string url)
    {
        await Waiting.UntilAsync(
            () => Task.FromResult(DevTools().IsMatch(chromium.Output)),
            () => chromium.HasExited ? "Chromium has ended: " + chromium.Output : null,
            "Chromium to listen");
        using var client = new HttpClient();
        using var opened = await client.PutAsync(
            $"http://{DevTools().Match(chromium.Output).Groups["host"].Value}/json/new?{url}", content: null);
        var target = await opened.Content.ReadFromJsonAsync<JsonNode>();
        var socket = new ClientWebSocket();
        await socket.ConnectAsync(new Uri((string)target!["webSocketDebuggerUrl"]!), CancellationToken.None)
            .Within("the page");
        return socket;
    }

    /// <returns>The text that the script ends with.</returns>
    private static async Task<string?> EvaluateAsync(ClientWebSocket page, string script)
    {
        var command = JsonSerializer.SerializeToUtf8Bytes(
            new { id = 1, method = "Runtime.evaluate", @params = new { expression = script } });
        await page.SendAsync(command, WebSocketMessageType.Text, endOfMessage: true, CancellationToken.None);
        var buffer = new byte[64 * 1024];
        var answer = await page.ReceiveAsync(buffer, CancellationToken.None).Within("the browser");
        return (string?)JsonNode.Parse(
            Encoding.UTF8.GetString(buffer, 0, answer.Count))!["result"]!["result"]!["value"];
    }

    [GeneratedRegex("DevTools listening on ws://(?<host>[^/]+)/")]
    private static partial Regex DevTools();
}
