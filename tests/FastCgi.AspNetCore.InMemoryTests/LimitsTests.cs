namespace FastCgi.AspNetCore.InMemoryTests;

public class LimitsTests
{
    [Fact]
    public async Task MaxConcurrentRequests_NoQueue_503WithRetryAfter()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            Apps.HelloAfter(go.Task),
            static options => options.Limits.MaxConcurrentRequests = 1);
        var first = server.Connect();
        var second = server.Connect();
        first.Send(RecordBytes.Get());

        var refused = await second.AskAsync();
        Assert.Equal((503, 2), (refused.Status, refused.ProtocolStatus));
        Assert.Equal("1", refused["Retry-After"]);
        Assert.NotEmpty(refused.Body);
        go.SetResult();

        Assert.Equal("Hello", (await first.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "G2")]
    [Trait("Contract", "I24")]
    public async Task MaxConcurrentConnections_Reached_RejectedUntilOneCloses()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Limits.MaxConcurrentConnections = 1);
        var first = server.Connect();

        Assert.ThrowsAny<Exception>(() => server.Connect());
        Assert.Equal(LogLevel.Warning, (await server.Logs.SingleAsync("ConnectionRejected")).Level);
        Assert.Equal((1, 1), (server.Connections.Count, server.Context.Counters.RejectedConnections));
        first.Close();

        var second = server.Connect();
        Assert.Equal("Hello", (await second.AskAsync()).Text);
    }

    [Fact]
    public async Task MaxRequestBodySize_AfterReadingARequestWithoutBody_CanBeChanged()
    {
        var response = await TestServer.AskAsync(static async context =>
        {
            await context.Request.Body.CopyToAsync(Stream.Null);
            var feature = context.Features.Get<IHttpMaxRequestBodySizeFeature>()!;
            feature.MaxRequestBodySize = 10;
            await context.Response.WriteAsync($"{feature.IsReadOnly} {feature.MaxRequestBodySize}");
        });

        Assert.Equal("False 10", response.Text);
    }
}
