using System.Net.Http.Json;
using System.Net.WebSockets;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Samples.Tests;

public sealed partial class BlazorTests
{
    /// <remarks>After a network error, Chromium shows a page of its own, and does not load the address again.</remarks>
    private const string ClickAndRead =
        """
        if (document.body?.innerText.includes('ERR_')) location.reload();
        document.querySelector('button')?.click();
        document.URL + ' ' + document.body?.innerText
        """;

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
                "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--ignore-certificate-errors", $"--user-data-dir={folder.Path}/browser", "about:blank",
            ],
            folder.Path);
        using var page = await OpenAsync(chromium, $"{scheme}://localhost:{sample.Port}/counter");

        // A click before the circuit is there has no effect.
        string? shown = null;
        await Waiting.FindAsync(
            async () =>
            {
                shown = await EvaluateAsync(page, ClickAndRead);
                return shown is { } text && CountAboveZero().IsMatch(text) ? text : null;
            },
            () => $"Waited in vain for the count. The page shows: {shown}");

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

    [GeneratedRegex("Count: [1-9]")]
    private static partial Regex CountAboveZero();

    [GeneratedRegex("DevTools listening on ws://(?<host>[^/]+)/")]
    private static partial Regex DevTools();
}
