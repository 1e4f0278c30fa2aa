namespace FastCgi.AspNetCore.InMemoryTests;

public class KeepConnectionTests
{
    [Fact]
    [Trait("Contract", "T13")]
    public async Task KEEP_CONN_NotSetAndSendHeld_ClosedOnlyWhenAllIsSent()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get(keepConnection: false));
        Assert.False(frontEnd.Transport.IsClosed);
        // On a machine that is slow enough, the answer leaves in two sends.
        frontEnd.Transport.ReleaseSend(goesOn: false);

        Assert.True(frontEnd.Transport.IsClosed);
    }

    [Fact]
    public async Task KEEP_CONN_NotSetForOneOfSeveral_ClosedAfterTheLast()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Apps.After(go.Task, Apps.Target, path: "/slow"));

        frontEnd.Send(RecordBytes.Get(1, "/slow"));
        Assert.Equal("GET /fast", (await frontEnd.AskAsync(RecordBytes.Get(2, "/fast", keepConnection: false))).Text);
        Assert.False(frontEnd.Transport.IsClosed);
        go.SetResult();

        Assert.Equal("GET /slow", (await frontEnd.ReadResponseAsync()).Text);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the close");
    }

    [Fact]
    public async Task KEEP_CONN_NotSetAndTheLastIsAboutToEnd_ItsEndIsWaitedFor()
    {
        var isEnding = Waiting.Signal();
        using var go = new ManualResetEventSlim();
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Do(context =>
            {
                if (context.Request.Path == "/held")
                    context.Response.Headers["X-Held"] = "1";
            }),
            options => options.ResponseHeaderEncodingSelector = name =>
            {
                // Called when the header block is made, which is when the response ends: between the table and the
                // line.
                if (name == "X-Held" && isEnding.TrySetResult())
                    go.Wait();
                return null;
            });
        frontEnd.Send(RecordBytes.Begin(1, keepConnection: false));
        var held = Task.Run(() => frontEnd.Send(RecordBytes.Get(2, "/held")));
        await isEnding.Task.Within("the end of the second");

        frontEnd.Send(
            RecordBytes.ParamsStream(1, RecordBytes.RequestParams()), RecordBytes.Record(RecordBytes.Stdin, 1));
        await frontEnd.ReadResponseAsync();
        Assert.False(frontEnd.Transport.IsClosed);
        go.Set();
        await held.Within("the second");

        await frontEnd.ReadResponseAsync(2);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsClosed, "the close");
    }

    [Fact]
    public async Task KEEP_CONN_NotSetAndAnotherEndedBeforeItsBody_RestIsWaitedFor()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Apps.After(go.Task, Apps.Target, path: "/slow"));
        frontEnd.Send(RecordBytes.Get(1, "/slow", keepConnection: false));
        frontEnd.Send(RecordBytes.PostHead(1_000, id: 2, uri: "/early"));
        Assert.Equal("POST /early", (await frontEnd.ReadResponseAsync(2)).Text);
        go.SetResult();

        // Its STDIN may still be in transit. If the socket were closed before it arrived, it would be reset, and the
        // last response lost.
        Assert.Equal("GET /slow", (await frontEnd.ReadResponseAsync()).Text);
        Assert.False(frontEnd.IsInputComplete);
    }
}
