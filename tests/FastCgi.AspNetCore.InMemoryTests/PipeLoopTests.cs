namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What the loop of a connection over pipes takes from its inbox.</summary>
public sealed class PipeLoopTests
{
    /// <summary>The application may never read the rest, so no read would notice the end.</summary>
    [Fact]
    public async Task Disconnect_WhileReceivingPauses_RequestIsAborted()
    {
        await using var server = await TestServer.StartAsync(
            Apps.UntilAborted, static options => options.Limits.MaxRequestBufferSize = 1_024);
        using var closed = new CancellationTokenSource();
        var pipes = new PipeContext { ConnectionClosed = closed.Token };
        pipes.RunOn(server);
        await pipes.FromWebServer.Writer.WriteAsync(RecordBytes.Post(1, "/", new byte[20_000]).AsMemory()[..10_000]);
        await Waiting.UntilAsync(() => pipes.Connection.IsReceivePaused, "the pause");

        await closed.CancelAsync();

        await pipes.Running.Within("the end of the connection");
        Assert.Equal(0, server.Connections.Count);
    }

    /// <summary>What a web server sent before it disconnected is received first.</summary>
    [Fact]
    public async Task Disconnect_WhileNothingPauses_RestIsReceived()
    {
        var length = Waiting.Signal<int>();
        await using var server = await TestServer.StartAsync(async context =>
        {
            var body = new byte[100_000];
            length.SetResult(await context.Request.Body.ReadAtLeastAsync(body, 60_000));
        });
        using var closed = new CancellationTokenSource();
        var pipes = new PipeContext { ConnectionClosed = closed.Token };
        await pipes.FromWebServer.Writer.WriteAsync(RecordBytes.Post(1, "/", new byte[60_000]).AsMemory()[..^8]);
        await pipes.FromWebServer.Writer.CompleteAsync();
        await closed.CancelAsync();

        pipes.RunOn(server);

        Assert.Equal(60_000, await length.Task.Within("the body"));
        await pipes.Running.Within("the end of the connection");
    }

    /// <summary>The thread that frees its slot is one of another connection.</summary>
    [Fact]
    public async Task Request_HasWaitedForASlot_Runs()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(Apps.HelloAfter(go.Task), static options =>
        {
            options.Limits.MaxConcurrentRequests = 1;
            options.Limits.RequestQueueLimit = 10;
        });
        var pipes = Enumerable.Range(0, 5).Select(_ => PipeContext.Run(server)).ToList();
        foreach (var each in pipes)
            await each.FromWebServer.Writer.WriteAsync(RecordBytes.Get());
        await Waiting.UntilAsync(() => server.Context.Admission.QueuedCount == 4, "the others to wait");

        go.SetResult();

        foreach (var each in pipes)
        {
            await each.Writer.IsFlushing.Task.Within("the response");
            await each.FromWebServer.Writer.CompleteAsync();
            await each.Running.Within("the end of the connection");
        }
    }
}
