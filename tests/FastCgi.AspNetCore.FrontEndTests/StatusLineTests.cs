namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>The status line that reaches the client.</summary>
public sealed class StatusLineTests(ITestOutputHelper output) : FrontEndTest(output)
{
    /// <summary>A space follows the code, reason or not (RFC 9112, section 4).</summary>
    [Theory, EveryFrontEnd(IsHttp1 = true)]
    public async Task Status_WithoutAReason_HasTheSpace(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, static app => app.MapGet("/{status:int}", static (int status) => Results.StatusCode(status)));

        foreach (var status in (int[])[299, 499, 599])
        {
            using var client = await site.ConnectAsync();
            await client.SendAsync($"GET /{status} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            var line = (await client.ReadToEndAsync()).Split("\r\n")[0];
            Assert.StartsWith($"HTTP/1.1 {status} ", line, StringComparison.Ordinal);
        }
    }
}
