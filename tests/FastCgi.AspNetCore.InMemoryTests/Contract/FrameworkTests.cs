namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>Parts of ASP.NET Core that depend on the server the most.</summary>
public class FrameworkTests
{
    [Fact]
    [Trait("Contract", "J")]
    public async Task ServerSentEvents_ResultOfAnEndpoint_EventByEvent()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await StartAsync(app => app.UseRouting().UseEndpoints(endpoints =>
            endpoints.MapGet("/events", () => TypedResults.ServerSentEvents(EventsAsync(go.Task)))));

        frontEnd.Send(RecordBytes.Get(uri: "/events"));
        var first = Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);
        while (!first.EndsWith("data: one\n\n", StringComparison.Ordinal))
            first += Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);
        go.SetResult();
        var second = "";
        while (!second.EndsWith("data: two\n\n", StringComparison.Ordinal))
            second += Encoding.UTF8.GetString((await frontEnd.ReadRecordAsync()).Content);

        Assert.Contains("X-Accel-Buffering: no\r\n", first, StringComparison.Ordinal);
    }

    [Theory]
    [Trait("Contract", "T37")]
    [InlineData("192.0.2.7", "192.0.2.7 http")]
    [InlineData("127.0.0.1", "203.0.113.9 https")]
    public async Task ForwardedHeaders_LeftIn_TrustedOnlyFromTheLocalMachine(string remoteAddress, string seen)
    {
        var options =
            new ForwardedHeadersOptions { ForwardedHeaders = Microsoft.AspNetCore.HttpOverrides.ForwardedHeaders.All };
        await using var frontEnd = await StartAsync(app => app.UseForwardedHeaders(options).Run(static context
            => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress} {context.Request.Scheme}")));

        frontEnd.Send(RecordBytes.Get(more: [
            ("REMOTE_ADDR", remoteAddress),
            ("HTTP_X_FORWARDED_FOR", "203.0.113.9"),
            ("HTTP_X_FORWARDED_PROTO", "https")]));

        Assert.Equal(seen, (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory]
    [Trait("Contract", "T38")]
    [Trait("Contract", "H13")]
    [InlineData("www.example.test", 200)]
    [InlineData("other.example.test", 400)]
    public async Task HostFiltering_HostOfTheClient_Checked(string host, int status)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.UseHostFiltering().Run(Apps.Hello),
            services: static services => services.AddHostFiltering(
                static options => options.AllowedHosts = ["www.example.test"]));

        Assert.Equal(status, (await frontEnd.AskAsync(RecordBytes.Get(more: ("HTTP_HOST", host)))).Status);
    }

    [Theory]
    [Trait("Contract", "T39")]
    [Trait("Contract", "H15")]
    [InlineData("on", null, 200, null)]
    [InlineData("", null, 200, null)]
    [InlineData("", "443", 307, "https://www.example.test/page")]
    public async Task HttpsRedirection_SchemeOfTheClient_Decides(
        string https, string? port, int status, string? location)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.UseHttpsRedirection().Run(Apps.Hello),
            services: services => services.AddHttpsRedirection(
                options => options.HttpsPort = port is null ? null : int.Parse(port)));

        var response = await frontEnd.AskAsync(RecordBytes.Get(uri: "/page", more: ("HTTPS", https)));
        Assert.Equal((status, location), (response.Status, response["Location"]));
    }

    [Fact]
    [Trait("Contract", "1")]
    [Trait("Contract", "T2")]
    public async Task WebSockets_MiddlewareInstalled_NotOffered()
    {
        await using var frontEnd = await StartAsync(static app => app.UseWebSockets().Run(static context
            => context.Response.WriteAsync(
                $"{context.Features.Get<IHttpWebSocketFeature>() is null} {context.WebSockets.IsWebSocketRequest}")));

        Assert.Equal("True False", (await frontEnd.AskAsync(
            RecordBytes.Get(more: [("HTTP_UPGRADE", "websocket"), ("HTTP_CONNECTION", "Upgrade")]))).Text);
    }

    private static Task<FrontEnd> StartAsync(Action<IApplicationBuilder> pipeline)
        => TestServer.ConnectAsync(pipeline, services: static services => services.AddRouting());

    private static async IAsyncEnumerable<string> EventsAsync(Task go)
    {
        yield return "one";
        await go;
        yield return "two";
    }
}
