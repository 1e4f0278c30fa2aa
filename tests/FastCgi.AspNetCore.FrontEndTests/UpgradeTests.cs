using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>FastCGI has no upgrade: who asks for one gets the answer to an ordinary request.</summary>
public sealed class UpgradeTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd(IsHttp1 = true)]
    public async Task Get_WithUpgrade_IsAnOrdinaryRequest(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app =>
        {
            app.UseWebSockets();
            app.MapGet("/", (HttpContext context) =>
                $"{context.WebSockets.IsWebSocketRequest} {context.Features.Get<IHttpUpgradeFeature>() is null}");
        });
        using var client = await site.ConnectAsync();

        await client.SendAsync(
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n" +
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
        var answer = await client.ReadToEndAsync();

        Assert.StartsWith("HTTP/1.1 200 ", answer, StringComparison.Ordinal);
        Assert.Contains("False True", answer, StringComparison.Ordinal);
    }
}
