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
        await pipes.SendAsync(RecordBytes.Post(1, "/", new byte[20_000]).AsMemory()[..10_000]);
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
        await pipes.SendAsync(RecordBytes.Post(1, "/", new byte[60_000]).AsMemory()[..^8]);
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
            await each.SendAsync(RecordBytes.Get());
        await Waiting.UntilAsync(() => server.Context.Admission.QueuedCount == 4, "the others to wait");

        go.SetResult();

        foreach (var each in pipes)
        {
            await each.Writer.IsFlushing.Task.Within("the response");
            await each.EndAsync();
        }
    }

    /// <summary>A peer that takes everything at once does not keep the loop from its other connections.</summary>
    [Fact]
    public async Task Send_PeerAcceptsEverything_OtherConnectionsGetTheirTurn()
    {
        var body = Apps.Pattern(4 * 1_024 * 1_024);
        await using var server = await TestServer.StartAsync(
            context => context.Response.Body.WriteAsync(context.Request.Path == "/large" ? body : "small"u8.ToArray())
                .AsTask(),
            static options =>
            {
                options.Limits.MaxResponseBufferSize = null;
                options.Transport.LoopCount = 1;
            });
        var loop = server.Engine.ChooseLoop();
        var small = PipeContext.Run(server);
        var large = PipeContext.Run(server);
        var flushesBefore = -1;
        small.Writer.Flushing = _ => flushesBefore = large.Writer.FlushCount;
        large.Writer.HeldFlush = new();
        large.Writer.HeldFlush.SetResult(default);
        large.Writer.Flushing = count =>
        {
            if (count > 1)
                return;
            _ = small.SendAsync(RecordBytes.Get(1, "/small"));
            Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref InboxCountOf(loop)) > 0, Waiting.Patience));
        };

        await large.SendAsync(RecordBytes.Get(1, "/large"));

        await small.Writer.IsFlushing.Task.Within("the small response");
        foreach (var each in (PipeContext[])[small, large])
        {
            await each.EndAsync();
        }

        Assert.InRange(flushesBefore, 1, large.Writer.FlushCount / 2);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_inboxCount")]
    private static extern ref int InboxCountOf(EventLoop loop);
}
