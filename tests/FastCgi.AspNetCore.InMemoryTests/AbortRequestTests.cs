namespace FastCgi.AspNetCore.InMemoryTests;

public class AbortRequestTests
{
    /// <summary>An abort of one request in the same receive loses none of the others.</summary>
    [Fact]
    public Task ABORT_REQUEST_InTheReceiveOfOtherRequests_OthersAreAnswered()
        => Script.PlayAsync("get+get:2+abort+get:3 end 2:200 3:200");

    [Theory]
    [Contract("F1")]
    [InlineData("get/wait abort end open")]
    // The record is whole before it takes effect.
    [InlineData("get/wait abort2<9 silent abort2>9 end open")]
    public Task ABORT_REQUEST_WhileTheApplicationRuns_CancelledAndEndedAtOnce(string script)
        => Script.PlayAsync(script);

    [Theory]
    [InlineData("begin+abort end get 200")]
    [InlineData("begin+pairs/never+abort end get 200")]
    [InlineData("begin+params/never+abort end get 200")]
    public Task ABORT_REQUEST_BeforeTheApplicationStarts_EndedAndNeverStarted(string script)
        => Script.PlayAsync(script);

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
