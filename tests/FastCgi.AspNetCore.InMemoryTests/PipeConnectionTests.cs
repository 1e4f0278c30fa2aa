namespace FastCgi.AspNetCore.InMemoryTests;

public class PipeConnectionTests
{
    [Theory, Values(false, true)]
    public async Task End_WhileAnotherThreadWritesOrFlushes_WaitsForIt(bool flushes)
    {
        var entered = Waiting.Signal();
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            entered.SetResult();
            await go.Task;
            await Apps.Hello(context);
        });
        var pipes = PipeContext.Run(server);
        var flush = Waiting.Signal<FlushResult>();
        if (flushes)
            pipes.Writer.HeldFlush = flush;
        else
            pipes.Writer.HoldsNextSpan = true;

        await pipes.SendAsync(RecordBytes.Get());
        await entered.Task.Within("the handler");
        // After its batch, the loop sends nothing for the handler.
        await Waiting.UntilAsync(() => server.Engine.Loops[0].Queue.Output is null, "the end of the batch");
        go.SetResult();
        await (flushes ? pipes.Writer.IsFlushing : pipes.Writer.IsInSpan).Task.Within("the server to write");
        await pipes.FromWebServer.Writer.CompleteAsync();
        await pipes.IsAborted.Task.Within("the end of the connection");

        Assert.False(pipes.Writer.IsCompleted);
        if (flushes)
            flush.SetException(new ConnectionAbortedException());
        else
            pipes.Writer.Continue.SetResult();
        await pipes.Running.Within("the connection to end");
        Assert.True(pipes.Writer.IsCompleted);
        await server.AssertNothingIsRentedAsync();
    }

    /// <summary>.NET's timers last at most 49 days. Longer times are infinite.</summary>
    [Theory]
    [InlineData(5, true)]
    [InlineData(50 * 86_400, false)]
    [InlineData(60 * 86_400, false)]
    [InlineData(-0.001, false)]
    public async Task End_TransportDoesNotEnd_AbortedAfterTheLingerTimeout(double seconds, bool isAborted)
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, options => options.Limits.LingerTimeout = TimeSpan.FromSeconds(seconds));
        var pipes = new PipeContext { Disposal = Waiting.Signal() };
        pipes.RunOn(server);
        await pipes.FromWebServer.Writer.CompleteAsync();
        await Waiting.UntilAsync(() => pipes.IsDisposed, "the disposal");
        Assert.Equal(0, pipes.AbortCount);

        server.Clock.Advance(TimeSpan.FromDays(40));
        await server.AdvanceUntilAsync(() => !isAborted || pipes.AbortCount > 0, "the abort");
        Assert.False(pipes.Running.IsCompleted);
        pipes.Disposal.SetResult();

        await pipes.Running.Within("the end");
        Assert.Equal(isAborted, pipes.AbortCount > 0);
    }

    /// <summary>The send would never end, and the connection would keep its slot.</summary>
    [Fact]
    public async Task End_PeerReceivesNothing_SendIsAborted()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = new PipeContext
        {
            Writer = new HeldWriter(
            new Pipe(new PipeOptions(pauseWriterThreshold: 2, resumeWriterThreshold: 1)).Writer)
        };
        pipes.RunOn(server);
        await pipes.SendAsync(RecordBytes.Get());
        await pipes.Writer.IsFlushing.Task.Within("the server to flush");

        await pipes.EndAsync();
        Assert.True(pipes.Writer.IsCompleted);
        await server.AssertNothingIsRentedAsync();
    }

    /// <summary>The application may never continue to read.</summary>
    [Fact]
    public async Task Reset_WhileReceivingPauses_ConnectionEndsAndIsAbortedOnce()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            Apps.HelloAfter(go.Task),
            static options => options.Limits.MaxRequestBufferSize = 1_024);
        var pipes = PipeContext.Run(server);
        await pipes.SendAsync(RecordBytes.Post(1, "/", new byte[20_000]).AsMemory()[..10_000]);
        await Waiting.UntilAsync(() => pipes.Connection.IsReceivePaused, "the pause");

        pipes.Connection.Fail();
        pipes.Connection.Fail();

        await pipes.Running.Within("the end of the connection");
        Assert.Equal(1, pipes.AbortCount);
        go.SetResult();
    }

    /// <summary>The peer keeps reading and sends nothing, so only the send can fail.</summary>
    [Theory, Values("transport", "writer", "flush")]
    public async Task Send_Fails_ConnectionEndsAndNothingIsLeft(string what)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = PipeContext.Run(server);
        var error = new NotSupportedException("on purpose");
        pipes.TransportError = what == "transport" ? error : null;
        pipes.Writer.Error = what == "writer" ? error : null;
        var flush = pipes.Writer.HeldFlush = what == "flush" ? Waiting.Signal<FlushResult>() : null;

        await pipes.SendAsync(RecordBytes.Get());
        if (flush is not null)
        {
            await pipes.Writer.IsFlushing.Task.Within("the server to flush");
            flush.SetException(error);
        }

        await pipes.Running.Within("the connection to end");
        Assert.True(flush is null || pipes.IsAborted.Task.IsCompleted);
        await server.AssertNothingIsRentedAsync();
        Assert.Equal(0, server.Connections.Count);
    }

    [Fact]
    public async Task Receive_BodyBeyondTheWindow_PausesUntilItIsRead()
    {
        var go = Waiting.Signal();
        var length = 0L;
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                await go.Task;
                length = (await context.Request.BodyReader.ReadAtLeastAsync(20_000)).Buffer.Length;
                await Apps.Hello(context);
            },
            static options => options.Limits.MaxRequestBufferSize = 1_024);
        var request = RecordBytes.Post(1, "/", new byte[20_000], keepConnection: false);
        var pipes = PipeContext.Run(server);

        await pipes.SendAsync(request.AsMemory(0, 10_000));
        await Waiting.UntilAsync(() => pipes.Connection.IsReceivePaused, "the pause");
        await pipes.SendAsync(request.AsMemory(10_000));
        Assert.InRange(pipes.Connection.GetTotals().BytesReceived, 1_024, 10_000);
        go.SetResult();
        await pipes.Running.Within("the end of the connection");

        Assert.Equal(20_000, length);
        Assert.True(pipes.Writer.IsCompleted);
        Assert.True(pipes.IsDisposed);
    }

    /// <summary>A web server that is still sending gets the answer and the end, and may continue.</summary>
    [Fact]
    public async Task Answer_BeforeTheEndOfTheRequest_EndsOurSideAndReceivesOn()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipes = PipeContext.Run(server);

        await pipes.SendAsync(RecordBytes.Post(1, "/", new byte[1_000], keepConnection: false).AsMemory()[..^8]);
        await pipes.Writer.Completed.Task.Within("the end of our side");
        Assert.False(pipes.Running.IsCompleted);
        await pipes.SendAsync(new byte[100_000]);
        await pipes.EndAsync();
        Assert.Equal(0, server.Connections.Count);
    }

    /// <summary>The transport drops the bytes, as Kestrel knows too. The application must not write on.</summary>
    [Fact]
    public async Task Flush_NobodyReadsAnyMore_RequestIsAbortedAndTheConnectionEnds()
    {
        await using var server = await TestServer.StartAsync(static async context =>
        {
            await context.Response.Body.FlushAsync();
            await Apps.UntilAborted(context);
        });
        var pipe = new Pipe();
        var pipes = new PipeContext { Writer = new HeldWriter(pipe.Writer) };
        pipes.RunOn(server);
        await pipe.Reader.CompleteAsync();

        await pipes.SendAsync(RecordBytes.Get());

        await pipes.Running.Within("the end of the connection");
        Assert.Equal(1, pipes.AbortCount);
    }

    /// <summary>The peer would mistake the next bytes for the lost ones.</summary>
    [Theory, Values(true, false)]
    public async Task Send_AfterBytesThatWereLost_SendsNothing(bool isLostAtOnce)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var pipe = new Pipe();
        var pipes = new PipeContext { Writer = new HeldWriter(pipe.Writer) };
        var connection = new PipeConnection(pipes, server.Engine.ChooseLoop(), server.Connections);
        var block = server.Context.Buffers.RentBlock(100);
        block.Append("lost"u8);
        var flush = isLostAtOnce ? null : pipes.Writer.HeldFlush = Waiting.Signal<FlushResult>();
        pipes.Writer.Error = isLostAtOnce ? new NotSupportedException("on purpose") : null;

        Assert.False(connection.Send(block));
        flush?.SetException(new NotSupportedException("on purpose"));
        await pipes.IsAborted.Task.Within("the end");
        pipes.Writer.Error = null;
        pipes.Writer.HeldFlush = null;
        var before = pipe.Writer.UnflushedBytes;

        Assert.True(connection.Send(block));

        Assert.Equal(before, pipe.Writer.UnflushedBytes);
        Assert.False(pipe.Reader.TryRead(out _));
        block.Return();
    }

    /// <summary>The transport's thread can append to the pipe until the connection is closed.</summary>
    [Fact]
    public async Task Leave_RequestArrivesWhenTheReadIsCancelled_IsAnswered()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(10));
        var sent = new Pipe();
        var received = new Pipe();
        var pipes = new PipeContext
        {
            Reader = new LateReader(received, RecordBytes.Get(1, "/late")),
            Writer = new HeldWriter(sent.Writer),
        };
        pipes.RunOn(server);
        await received.Writer.WriteAsync(RecordBytes.Get());
        Assert.NotEqual(0, await ReadAsync());

        server.Clock.Advance(TimeSpan.FromSeconds(11));

        Assert.NotEqual(0, await ReadAsync());
        await received.Writer.CompleteAsync();
        await pipes.Running.Within("the end of the connection");

        async Task<long> ReadAsync()
        {
            var result = await sent.Reader.ReadAsync().AsTask().Within("a response");
            var length = result.Buffer.Length;
            sent.Reader.AdvanceTo(result.Buffer.End);
            return length;
        }
    }

    /// <summary>The connection was to be closed, and is open again. Its limits still apply.</summary>
    [Fact]
    public async Task Leave_UploadArrivesWhenTheReadIsCancelled_PausesBeyondTheWindow()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => context.Request.Path == "/late" ? Apps.HelloAfter(go.Task)(context) : Apps.Hello(context),
            static options =>
            {
                options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(10);
                options.Limits.MaxRequestBufferSize = 1_024;
            });
        var upload = RecordBytes.Post(1, "/late", new byte[1_000_000]);
        var received = new Pipe(new PipeOptions(pauseWriterThreshold: 10_000_000, resumeWriterThreshold: 5_000_000));
        var pipes = new PipeContext { Reader = new LateReader(received, upload[..10_000]) };
        pipes.RunOn(server);
        await received.Writer.WriteAsync(RecordBytes.Get());
        await pipes.Writer.IsFlushing.Task.Within("the first response");
        await Waiting.UntilAsync(() => pipes.Connection.ListRequests().Count == 0, "the end of the first request");

        server.Clock.Advance(TimeSpan.FromSeconds(11));
        await Waiting.UntilAsync(() => pipes.Connection.IsReceivePaused, "the pause");
        await received.Writer.WriteAsync(upload.AsMemory(10_000));

        Assert.InRange(pipes.Connection.GetTotals().BytesReceived, 1_024, 20_000);
        go.SetResult();
        await received.Writer.CompleteAsync();
        await pipes.Running.Within("the end of the connection");
    }

    /// <summary>Appends to the pipe as soon as a read was cancelled.</summary>
    private sealed class LateReader(Pipe pipe, byte[] late) : PipeReader
    {
        private bool _isLate;

        public override async ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        {
            var result = await pipe.Reader.ReadAsync(cancellationToken);
            if (result.IsCanceled && !_isLate)
            {
                _isLate = true;
                await pipe.Writer.WriteAsync(late, cancellationToken);
            }

            return result;
        }

        public override bool TryRead(out ReadResult result) => pipe.Reader.TryRead(out result);

        public override void AdvanceTo(SequencePosition consumed) => pipe.Reader.AdvanceTo(consumed);

        public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
            => pipe.Reader.AdvanceTo(consumed, examined);

        public override void CancelPendingRead() => pipe.Reader.CancelPendingRead();

        public override void Complete(Exception? exception = null) => pipe.Reader.Complete(exception);
    }
}
