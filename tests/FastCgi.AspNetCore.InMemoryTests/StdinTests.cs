namespace FastCgi.AspNetCore.InMemoryTests;

public class StdinTests
{
    [Theory]
    [Trait("Contract", "T17")]
    [Values("", "-1")]
    public async Task STDIN_LengthNotKnown_ReadToTheEndOfStream(string contentLength)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash);
        var body = Apps.Pattern(5_000);

        frontEnd.Send(RecordBytes.PostHead(contentLength));
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, body.AsSpan(0, 3_000)));
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, body.AsSpan(3_000)));
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));

        Assert.Equal(Apps.HashOf(body), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task STDIN_ContentLengthBytesWithoutEndOfStream_BodyComplete()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash);

        frontEnd.Send(RecordBytes.PostHead(4), RecordBytes.Record(RecordBytes.Stdin, 1, "abcd"u8));

        Assert.Equal(Apps.HashOf("abcd"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task STDIN_ZeroContentLengthAndNoRecord_BodyEmpty()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash);

        frontEnd.Send(RecordBytes.PostHead(0));

        Assert.Equal(Apps.HashOf([]), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "E7")]
    public async Task STDIN_MoreThanContentLength_CutAndNotTheNextRequests()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash);

        frontEnd.Send(RecordBytes.PostHead(4), RecordBytes.StdinStream(1, "abcdefgh"u8));
        Assert.Equal(Apps.HashOf("abcd"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);

        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "late"u8), RecordBytes.Post(1, "/", "next"u8.ToArray()));
        Assert.Equal(Apps.HashOf("next"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task STDIN_FewerThanContentLength_ReadFailsWith400()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.BodyHash, expects: "ApplicationError");

        frontEnd.Send(RecordBytes.PostHead(8), RecordBytes.StdinStream(1, "abcd"u8));

        Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Contains(
            frontEnd.Server.Logs.All, static log => log.Exception?.Message == "Unexpected end of request content.");
    }

    [Fact]
    public async Task STDIN_BeforeEndOfParams_400()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(
            RecordBytes.Begin(), RecordBytes.Record(
                RecordBytes.Params, 1, RecordBytes.Pairs(RecordBytes.RequestParams())),
            RecordBytes.Record(RecordBytes.Stdin, 1));

        Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    public async Task STDIN_CopiedToWhatFailsInTheMiddle_TheRestCanBeReadAgain()
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
            => _writes-- > 0 ? base.WriteAsync(
                buffer, cancellationToken) : ValueTask.FromException(new IOException("on purpose"));
    }
}
