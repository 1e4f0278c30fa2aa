namespace FastCgi.AspNetCore.InMemoryTests;

public class StdinTests
{
    [Theory]
    [Contract("T17")]
    [InlineData("post/hash stdin3000 stdin2000 stdin 200")]
    [InlineData("post-1/hash stdin3000 stdin2000 stdin 200")]
    public Task STDIN_LengthNotKnown_ReadToTheEndOfStream(string script) => Script.PlayAsync(script);

    [Fact]
    public Task STDIN_ContentLengthBytesWithoutEndOfStream_BodyComplete()
        => Script.PlayAsync("post4/hash+stdin4 200");

    [Fact]
    public Task STDIN_ZeroContentLengthAndNoRecord_BodyEmpty() => Script.PlayAsync("post0/hash 200");

    [Fact]
    [Contract("E7")]
    public Task STDIN_MoreThanContentLength_CutAndNotTheNextRequests()
        => Script.PlayAsync("post4/hash+stdin8+stdin 200 stdin4+post5/hash+stdin5+stdin 200");

    [Fact]
    public Task STDIN_FewerThanContentLength_ReadFailsWith400() => Script.PlayAsync(
        "post8/hash+stdin4+stdin 400",
        expects: "ApplicationError",
        afterwards: static server => Assert.Contains(
            server.Logs.All, static log => log.Exception?.Message == "Unexpected end of request content."));

    [Fact]
    public Task STDIN_BeforeEndOfParams_400() => Script.PlayAsync("begin+pairs+stdin 400 get 200");

    [Fact]
    public async Task STDIN_CopyFailsInTheMiddle_RestCanBeRead()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await go.Task;
            using var first = new FailingStream(writes: 1);
            await Assert.ThrowsAsync<IOException>(() => context.Request.Body.CopyToAsync(first));
            Assert.InRange(first.Length, 1, 29_999);
            using var rest = new MemoryStream();
            await context.Request.Body.CopyToAsync(rest);
            await context.Response.Body.WriteAsync((byte[])[.. first.ToArray(), .. rest.ToArray()]);
        });
        var body = Apps.Pattern(30_000);
        frontEnd.Send(RecordBytes.Begin(), RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST")));
        for (var start = 0; start < body.Length; start += 3_000)
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, body.AsSpan(start, 3_000)));
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        go.SetResult();

        Assert.Equal(body, (await frontEnd.ReadResponseAsync()).Body);
    }

    /// <summary>Accepts this many writes, and fails on the next.</summary>
    private sealed class FailingStream(int writes) : MemoryStream
    {
        private int _writes = writes;

        public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
            => _writes-- > 0
                ? base.WriteAsync(buffer, cancellationToken)
                : ValueTask.FromException(new IOException("on purpose"));
    }
}
