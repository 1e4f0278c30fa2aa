namespace FastCgi.AspNetCore.InMemoryTests;

public sealed class SendFileTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory, Values(0, 1, 65_016, 65_528, 65_529, 1_000_000)]
    public async Task SendFile_AnySize_ComesWhole(int length)
    {
        var content = Apps.Pattern(length);
        var path = _folder.Write("file", content);

        Assert.Equal(content, (await TestServer.AskAsync(context => context.Response.SendFileAsync(path))).Body);
    }

    [Fact]
    public async Task SendFile_BetweenWrites_IsInOrder()
    {
        var path = _folder.Write("file", "file"u8.ToArray());

        var response = await TestServer.AskAsync(async context =>
        {
            await context.Response.WriteAsync("<");
            context.Response.BodyWriter.Write("-"u8);
            await context.Response.SendFileAsync(path);
            await context.Response.SendFileAsync(path, 1, 2);
            await context.Response.WriteAsync(">");
        });

        Assert.Equal("<-fileil>", response.Text);
    }

    [Theory]
    [InlineData(0, 0L)]
    [InlineData(0, 10L)]
    [InlineData(3, 7L)]
    [InlineData(10, null)]
    public async Task SendFile_PartAtAnEdgeOfTheFile_ThatPartComes(int offset, long? count)
    {
        var content = Apps.Pattern(10);
        var path = _folder.Write("file", content);

        var response = await TestServer.AskAsync(context => context.Response.SendFileAsync(path, offset, count));

        Assert.Equal(content.AsSpan(offset, (int)(count ?? 10 - offset)).ToArray(), response.Body);
    }

    [Theory]
    [InlineData(-1, null)]
    [InlineData(11, null)]
    [InlineData(0, -1L)]
    [InlineData(0, 11L)]
    [InlineData(5, 6L)]
    public async Task SendFile_PartOutsideTheFile_RefusedBeforeTheStart(long offset, long? count)
    {
        var path = _folder.Write("file", new byte[10]);

        await TestServer.AskAsync(async context =>
        {
            await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
                () => context.Response.SendFileAsync(path, offset, count));
            Assert.False(context.Response.HasStarted);
        });
    }

    [Fact]
    public async Task SendFile_NoSuchFile_RefusedBeforeTheStart() => await TestServer.AskAsync(async context =>
    {
        await Assert.ThrowsAsync<FileNotFoundException>(
            () => context.Response.SendFileAsync(_folder.GetPath("absent")));
        await Assert.ThrowsAsync<FileNotFoundException>(() => context.Response.SendFileAsync(_folder.Path));
        await Assert.ThrowsAnyAsync<ArgumentException>(() => context.Response.SendFileAsync((string)null!));
        Assert.False(context.Response.HasStarted);
    });

    [Fact]
    public async Task SendFile_SlowReceiver_WaitsForIt()
    {
        var content = Apps.Pattern(2_000_000);
        var path = _folder.Write("file", content);
        await using var frontEnd = await TestServer.ConnectAsync(context => context.Response.SendFileAsync(path));
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get());
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "the first send");
        Assert.InRange(frontEnd.Transport.Sent.Length, 1, 300_000);
        frontEnd.Transport.ReleaseSend(continues: false);

        Assert.Equal(content, (await frontEnd.ReadResponseAsync()).Body);
    }

    [Theory, Values(true, false)]
    public async Task SendFile_FileShrinks_ResponseIsCut(bool hasContentLength)
    {
        var path = _folder.Write("file", new byte[2_000_000]);
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            if (hasContentLength)
                context.Response.ContentLength = 2_000_000;
            return context.Response.SendFileAsync(path, 0, 2_000_000);
        }, expects: "ApplicationError");
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "the first send");

        using (var file = new FileStream(path, FileMode.Open, FileAccess.Write, FileShare.ReadWrite))
            file.SetLength(1_000_000);
        frontEnd.Transport.ReleaseSend(continues: false);

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsReset, "the reset");
        Assert.Contains(
            frontEnd.Server.Logs.All,
            static log => log.Exception?.Message.Contains("was truncated") ?? false);
    }
}
