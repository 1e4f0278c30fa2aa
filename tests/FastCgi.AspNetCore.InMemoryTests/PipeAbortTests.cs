namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>How connections over third-party pipes end if the peer neither sends nor completes its side.</summary>
public sealed class PipeAbortTests
{
    // The time allowed to a peer that does not close: the drain, and two clock ticks.
    private static readonly TimeSpan s_drain = TimeSpan.FromSeconds(7);

    /// <summary>If the peer has more to send, the connection is drained first.</summary>
    [Theory]
    [InlineData("/now", true)]
    [InlineData("/started", true)]
    [InlineData("/later", true)]
    [InlineData("/now", false)]
    [InlineData("/started", false)]
    [InlineData("/later", false)]
    public async Task Abort_ByTheApplication_ConnectionEnds(string path, bool hasSentAll)
    {
        await using var server = await TestServer.StartAsync(AbortAsync);
        var pipes = PipeContext.Run(server);

        await pipes.SendAsync(RecordBytes.Post(1, path, new byte[1_000]).AsMemory()[..^(hasSentAll ? 0 : 508)]);
        await pipes.Writer.Completed.Task.Within("the end of our side");
        if (!hasSentAll)
            server.Clock.Advance(s_drain);

        await pipes.Running.Within("the end of the connection");
        Assert.True(pipes.IsDisposed);
    }

    /// <summary>The transport is pluggable: its abort may do nothing or throw, and it may take no bytes.</summary>
    [Theory, Values(true, false)]
    public async Task Abort_TransportDoesNothingAndTakesNothing_ConnectionEnds(bool throws)
    {
        var isRead = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            var flush = context.Response.BodyWriter.WriteAsync(new byte[100_000]).AsTask();
            await isRead.Task;
            context.Abort();
            await flush;
        });
        var pipe = new Pipe(new PipeOptions(pauseWriterThreshold: 1_024, resumeWriterThreshold: 512));
        var pipes = new PipeContext
        {
            Writer = new HeldWriter(pipe.Writer),
            AbortError = throws ? new NotSupportedException("on purpose") : null,
        };
        pipes.RunOn(server);
        await pipes.SendAsync(RecordBytes.Get());
        await pipes.Writer.IsFlushing.Task.Within("the server to flush");

        isRead.SetResult();

        await server.AdvanceUntilAsync(() => pipes.Running.IsCompleted, "the end of the connection");
        Assert.True(pipes.Writer.IsCompleted);
        Assert.True(pipes.IsDisposed);
    }

    private static async Task AbortAsync(HttpContext context)
    {
        if (context.Request.Path == "/started")
            await context.Response.Body.FlushAsync();
        if (context.Request.Path == "/later")
            await Task.Yield();
        context.Abort();
    }
}
