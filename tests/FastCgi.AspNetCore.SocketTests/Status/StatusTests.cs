using System.Text.Json;
using Microsoft.AspNetCore.Authorization;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>
/// The status over a connection: who can see it, and when. InMemoryTests check its forms and figures.
/// </summary>
[Collection(Alone.Name)]
public sealed class StatusTests : HostTest
{
    /// <summary>The status is needed most when all slots are in use.</summary>
    [Theory]
    [InlineData("/fastcgi-status?json")]
    [InlineData("/group/status?json")]
    [InlineData("/rooted?json")]
    public async Task Status_WhileTheApplicationHasNoRoom_IsShown(string uri)
    {
        await using var app = await StartAsync(static options => options.Limits.MaxConcurrentRequests = 1, static app =>
        {
            app.MapGroup("/group").MapFastCgiStatus("/status").AllowAnonymous();
            app.MapFastCgiStatus("~/rooted").AllowAnonymous();
        });
        using var slow = await SendSlowAsync();

        var status = await GetJsonAsync(uri);

        Assert.Equal(2, status.GetProperty("requests").GetProperty("active").GetInt64());
        Assert.Contains("Status: 503", await GetAsync("/", "192.0.2.7"));
        Go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
    }

    /// <summary>
    /// An endpoint that cannot be created fails its requests but not the start, as with other servers.
    /// </summary>
    [Fact]
    public async Task Start_OtherEndpointInvalid_Starts()
    {
        // Without authorization, which itself creates all endpoints at the start.
        await using var app = Build("--urls", Address);
        app.MapFastCgiStatus();
        app.MapGet("/bad", static (StatusTests body) => "x");

        await app.StartAsync();

        Assert.Contains("Status: 500", await GetAsync("/", "192.0.2.7"));
    }

    /// <summary>A policy without an attribute has no effect unless the middleware runs.</summary>
    [Fact]
    public async Task Start_WithStatusEndpoints_SaysWhoSeesThem()
    {
        await using var app = await StartAsync(map: static app =>
        {
            app.MapFastCgiStatus("/nobody");
            app.MapFastCgiStatus("/some").RequireAuthorization("nobody");
            app.MapFastCgiStatus("/policy")
                .WithMetadata(new AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
        });

        Assert.Equal(
            [
                "/fastcgi-status anyone who can reach it", "/nobody", "/policy",
                "/some users that satisfy its authorization policy",
            ],
            Logs.All.Where(static log => log.EventName is "StatusShown" or "StatusNotShown")
                .Select(
                    static log => Regex.Match(log.Message, "^The status at (/.*?) is visible to (.*?)[.:]").Result(
                        "$1 $2").Replace(" no one", "")).Order(StringComparer.Ordinal));
        Assert.Contains("Status: 403", await GetAsync("/nobody", "127.0.0.1"));
    }

    [Theory]
    [InlineData("GET", "/ping", "Status: 200", "pong\n")]
    [InlineData("HEAD", "/ping", "Status: 200", null)]
    [InlineData("POST", "/ping", "Status: 404", null)]
    [InlineData("GET", "/ping/more", "Status: 404", null)]
    public async Task Ping_IsAnsweredByTheServer(string method, string path, string status, string? body)
    {
        await using var app = await StartAsync(options =>
        {
            options.PingPath = "/ping";
            options.Limits.MaxConcurrentRequests = 1;
        });
        // Responses of the server itself need no slot; others do.
        using var slow = status == "Status: 200" ? await SendSlowAsync() : null;

        var answer = await GetAsync(path, "192.0.2.7", method: method);

        Assert.Contains(status, answer);
        if (body is not null)
            Assert.EndsWith(body, answer);
        Go.SetResult();
    }

    private async Task<JsonElement> GetJsonAsync(string uri)
    {
        var answer = await GetAsync(uri, "127.0.0.1");
        using var document = JsonDocument.Parse(answer[(answer.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..]);
        return document.RootElement.Clone();
    }

    /// <summary>The whole response to a client with an address.</summary>
    private async Task<string> GetAsync(string uri, string client, string method = "GET")
    {
        var parameters = RecordBytes.RequestParams(method, uri)
            .Select(pair => pair.Name == "REMOTE_ADDR" ? (pair.Name, client) : pair)
            .ToArray();
        using var connection = await FastCgiClient.ConnectAsync(Address);
        await connection.SendAsync(
            [
                .. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters),
                .. RecordBytes.Record(RecordBytes.Stdin, 1),
            ]);
        return Encoding.UTF8.GetString(await connection.ReadResponseAsync());
    }

    private async Task<WebApplication> StartAsync(
        Action<FastCgiServerOptions>? configure = null, Action<WebApplication>? map = null)
    {
        var builder = CreateBuilder("--urls", Address);
        builder.Services.AddAuthentication().AddFastCgi();
        builder.Services.AddAuthorizationBuilder()
            .AddPolicy("nobody", static policy => policy.RequireAssertion(static _ => false));
        builder.WebHost.UseFastCgi(options => configure?.Invoke(options));
        var app = Build(builder);
        app.MapFastCgiStatus().AllowAnonymous();
        map?.Invoke(app);
        await app.StartAsync();
        return app;
    }
}
