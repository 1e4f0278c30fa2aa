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

        second.Send(RecordBytes.Get());
        var refused = await second.ReadResponseAsync();
        Assert.Equal((503, 2), (refused.Status, refused.ProtocolStatus));
        Assert.Equal("1", refused["Retry-After"]);
        Assert.NotEmpty(refused.Body);
        go.SetResult();

        Assert.Equal("Hello", (await first.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task MaxConcurrentRequests_Queue_ServedInOrderOneAtATime()
    {
        var running = 0;
        var gates = Enumerable.Range(0, 4).Select(static _ => Waiting.Signal()).ToArray();
        var order = new List<string>();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                Assert.Equal(1, Interlocked.Increment(ref running));
                order.Add(context.Request.Path.Value![1..]);
                await gates[int.Parse(order[^1])].Task;
                Interlocked.Decrement(ref running);
                await Apps.Target(context);
            },
            static options =>
            {
                options.Limits.MaxConcurrentRequests = 1;
                options.Limits.RequestQueueLimit = 3;
            });
        var frontEnds = gates.Select(_ => server.Connect()).ToArray();
        for (var i = 0; i < 4; i++)
            frontEnds[i].Send(RecordBytes.Get(uri: $"/{i}"));
        var fifth = server.Connect();
        fifth.Send(RecordBytes.Get());
        Assert.Equal(503, (await fifth.ReadResponseAsync()).Status);

        for (var i = 0; i < 4; i++)
        {
            gates[i].SetResult();
            Assert.Equal($"GET /{i}", (await frontEnds[i].ReadResponseAsync()).Text);
        }

        Assert.Equal(["0", "1", "2", "3"], order);
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
        second.Send(RecordBytes.Get());
        Assert.Equal("Hello", (await second.ReadResponseAsync()).Text);
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
