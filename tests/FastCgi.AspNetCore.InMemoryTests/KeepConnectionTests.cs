namespace FastCgi.AspNetCore.InMemoryTests;

public class KeepConnectionTests
{
    [Fact]
    [Contract("T13")]
    public Task KEEP_CONN_NotSetAndSendHeld_ClosedOnlyWhenAllIsSent()
        => Script.PlayAsync("hold get.last open release closed");

    [Theory]
    [InlineData("get/slow get:2/fast.last 2:200 open go 200 closed")]
    // The last one is aborted.
    [InlineData("get:2/wait get.last 200 open abort:2 2:end closed")]
    [InlineData("begin:2 get.last 200 open abort:2 2:end closed")]
    public Task KEEP_CONN_NotSetForOneOfSeveral_ClosedAfterTheLast(string script) => Script.PlayAsync(script);

    /// <summary>
    /// Its STDIN may still be in transit. If the socket were closed before it arrived, it would be reset, and the last
    /// response lost.
    /// </summary>
    [Fact]
    public Task KEEP_CONN_NotSetAndAnotherEndedBeforeItsBody_RestIsWaitedFor()
        => Script.PlayAsync("get/slow.last post1000:2/early 2:200 go 200 incomplete");

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
}
