namespace FastCgi.AspNetCore.InMemoryTests;

public class ConnectionBoundTests
{
    private const int Window = 1_000;

    [Fact]
    public async Task Drain_MoreThanTheBound_Reset()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        // Without the end of STDIN, so that there may be more to come.
        await frontEnd.AskAsync(
            RecordBytes.Begin(keepConnection: false), RecordBytes.ParamsStream(1, RecordBytes.RequestParams()));
        var chunk = new byte[1_024 * 1_024];

        for (var i = 0; i < 64; i++)
            Receive(frontEnd, chunk);
        Assert.False(frontEnd.Transport.IsReset);
        Receive(frontEnd, [0]);

        Assert.True(frontEnd.Transport.IsReset);
    }

    [Fact]
    public async Task ABORT_REQUEST_WithContentInPieces_TakesEffectWhenItIsWhole()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.UntilAborted);
        frontEnd.Send(RecordBytes.Get());
        var abort = RecordBytes.Record(RecordBytes.AbortRequest, 1, new byte[2]);

        frontEnd.Send(abort[..9]);
        Assert.Empty(frontEnd.ReadAvailable());
        frontEnd.Send(abort[9..]);

        Assert.Equal(RecordBytes.EndRequest, Assert.Single(frontEnd.ReadAvailable()).Type);
    }

    [Fact]
    public async Task GET_VALUES_WithoutItsEndWhileARequestRuns_NotReset()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Apps.HelloAfter(go.Task));
        frontEnd.Send(RecordBytes.Get());
        frontEnd.Send(RecordBytes.Record(RecordBytes.GetValues, 0, new byte[100])[..9]);

        frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(1));
        Assert.False(frontEnd.Transport.IsReset);
        go.SetResult();

        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task STDIN_UnreadAndItsRequestAbortedByTheApplication_ReceivingResumes()
    {
        var abort = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                if (context.Request.Method != "POST")
                {
                    await Apps.UntilAborted(context);
                    return;
                }

                await abort.Task;
                context.Abort();
            },
            static options => options.Limits.MaxRequestBufferSize = Window);
        frontEnd.Send(RecordBytes.Get(2));
        frontEnd.Send(
            RecordBytes.Begin(),
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST")),
            RecordBytes.Record(RecordBytes.Stdin, 1, new byte[Window + 1]));
        Assert.True(frontEnd.IsPaused);

        abort.SetResult();

        Assert.Equal(RecordBytes.EndRequest, (await frontEnd.ReadRecordAsync()).Type);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount == 1, "receiving to be resumed");
    }

    private static void Receive(FrontEnd frontEnd, ReadOnlySpan<byte> data)
    {
        var ready = new ReadyRequests();
        Assert.True(frontEnd.Transport.Connection.OnReceived(data, ref ready));
        Assert.False(ready.HasWork);
    }
}
