namespace FastCgi.AspNetCore.InMemoryTests;

public class AbortRequestTests
{
    [Fact]
    [Trait("Contract", "F1")]
    public async Task ABORT_REQUEST_WhileTheApplicationRuns_CancelledAndEndedAtOnce()
    {
        var cancelled = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            try
            {
                await Task.Delay(Timeout.Infinite, context.RequestAborted);
            }
            finally
            {
                cancelled.SetResult();
            }
        });

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Send(RecordBytes.Abort());

        var end = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.EndRequest, end.Type);
        Assert.Equal(0, end.Content[4]);
        await cancelled.Task.Within("the cancellation");
        Assert.False(frontEnd.Transport.IsClosed);
    }

    [Theory, Values(1, 2, 3)]
    public async Task ABORT_REQUEST_BeforeTheApplicationStarts_EndedAndNeverStarted(int records)
    {
        var started = 0;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            started++;
            return Apps.Hello(context);
        });
        byte[][] request = [RecordBytes.Begin(), RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs(RecordBytes.RequestParams())), RecordBytes.Record(RecordBytes.Params, 1)];

        // With all three the abort comes in the same receive, before anything was started.
        frontEnd.Send([.. request.Take(records).Append(RecordBytes.Abort())]);

        var end = Assert.Single(frontEnd.ReadAvailable());
        Assert.Equal(RecordBytes.EndRequest, end.Type);
        Assert.Equal(0, started);
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    public async Task ABORT_REQUEST_AfterOutput_NothingOfItFollowsTheEnd()
    {
        var aborted = Waiting.Signal();
        var done = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.WriteAsync("first");
            context.RequestAborted.Register(aborted.SetResult);
            await aborted.Task;
            await context.Response.WriteAsync("late");
            await context.Response.Body.FlushAsync();
            context.Response.OnCompleted(Apps.Do(() => done.SetResult()));
        });

        frontEnd.Send(RecordBytes.Get());
        Assert.Equal(RecordBytes.Stdout, (await frontEnd.ReadRecordAsync()).Type);
        frontEnd.Send(RecordBytes.Abort());
        Assert.Equal(RecordBytes.EndRequest, (await frontEnd.ReadRecordAsync()).Type);
        await done.Task.Within("the end of the application");

        Assert.Empty(frontEnd.ReadAvailable());
    }

    [Fact]
    public async Task ABORT_REQUEST_WithQueuedOutput_DroppedBeforeTheEnd()
    {
        var aborted = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.RequestAborted.Register(aborted.SetResult);
            await context.Response.WriteAsync("first");
            await context.Response.WriteAsync("second");
            await aborted.Task;
        });
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get(1));
        frontEnd.Send(RecordBytes.Abort(1));
        frontEnd.Transport.ReleaseSend(goesOn: false);

        var types = frontEnd.ReadAvailable().Select(static record => record.Type).ToList();
        Assert.Equal(RecordBytes.EndRequest, types[^1]);
        Assert.Single(types, RecordBytes.EndRequest);
        await aborted.Task.Within("the abort");
    }

    [Fact]
    public async Task ABORT_REQUEST_OneOfSeveral_OthersGoOn()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await go.Task.WaitAsync(context.RequestAborted);
            await Apps.Target(context);
        });
        frontEnd.Send(RecordBytes.Get(1, "/1"));
        frontEnd.Send(RecordBytes.Get(2, "/2"));

        frontEnd.Send(RecordBytes.Abort(1));
        Assert.Equal(1, (await frontEnd.ReadRecordAsync()).Id);
        go.SetResult();

        Assert.Equal("GET /2", (await frontEnd.ReadResponseAsync(2)).Text);
        Assert.Equal("GET /again", (await frontEnd.AskAsync(RecordBytes.Get(1, "/again"))).Text);
    }

    [Fact]
    [Trait("Contract", "E6")]
    public async Task ABORT_REQUEST_InMidBody_ReadFails()
    {
        var failed = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await Assert.ThrowsAnyAsync<IOException>(() => context.Request.Body.CopyToAsync(Stream.Null));
            failed.SetResult();
        });

        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", "8"))), RecordBytes.Record(RecordBytes.Stdin, 1, "abcd"u8));
        frontEnd.Send(RecordBytes.Abort());

        Assert.Equal(RecordBytes.EndRequest, (await frontEnd.ReadRecordAsync()).Type);
        await failed.Task.Within("the read to fail");
    }

    [Fact]
    public async Task ABORT_REQUEST_WithoutKeepConnection_ConnectionClosed()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context => Task.Delay(Timeout.Infinite, context.RequestAborted));
        frontEnd.Send(RecordBytes.Get(keepConnection: false));

        frontEnd.Send(RecordBytes.Abort());

        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Theory, Values(true, false)]
    public async Task ABORT_REQUEST_OfUnknownOrEndedId_Ignored(bool wasThere)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        if (wasThere)
            await frontEnd.AskAsync();

        frontEnd.Send(RecordBytes.Abort(), RecordBytes.Abort(77));

        Assert.Empty(frontEnd.ReadAvailable());
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    public async Task ABORT_REQUEST_BegunAndAbortedWithoutEnd_WorkBounded()
    {
        var running = 0;
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async _ =>
        {
            Interlocked.Increment(ref running);
            await go.Task;
        });

        for (var i = 0; i < 500; i++)
            frontEnd.Send(RecordBytes.Get(), RecordBytes.Abort());
        for (var i = 0; i < 500; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            frontEnd.Send(RecordBytes.Abort());
        }

        Assert.Equal(100, Volatile.Read(ref running));
        go.SetResult();
    }

    [Fact]
    [Trait("Contract", "F1")]
    public async Task RequestAborted_CallbackThatThrows_Logged()
    {
        var cancelled = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.RequestAborted.Register(static () => throw new InvalidOperationException("in a callback"));
            context.RequestAborted.Register(cancelled.SetResult);
            await cancelled.Task;
        }, expects: "CancellationCallbackFailed");

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();

        await cancelled.Task.Within("the cancellation");
    }
}
