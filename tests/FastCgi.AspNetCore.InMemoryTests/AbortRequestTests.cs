namespace FastCgi.AspNetCore.InMemoryTests;

public class AbortRequestTests
{
    /// <summary>An abort of one request in the same receive loses none of the others.</summary>
    [Fact]
    public async Task ABORT_InTheReceiveOfOtherRequests_TheyAreAnswered()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Target, static options => options.Limits.MaxConcurrentRequests = 4);
        for (var i = 0; i < 10; i++)
        {
            frontEnd.Send(
                [
                    .. RecordBytes.Get(1), .. RecordBytes.Get(2), .. RecordBytes.Abort(1), .. RecordBytes.Get(3),
                ]);
            await frontEnd.Transport.WaitUntilAsync(
                () => frontEnd.Transport.CountEnds().Values.Sum() == 3 * (i + 1), "all ends");
        }
    }

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
        byte[][] request = [RecordBytes.Begin(), RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs(
            RecordBytes.RequestParams())), RecordBytes.Record(RecordBytes.Params, 1)];

        // In all three cases, the abort arrives in the same receive, before anything starts.
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
}
