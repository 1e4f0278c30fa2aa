namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Header block, body, end, and close notice share a block if they fit: tests at its edges.</summary>
public class BlockEdgeTests
{
    // The capacity of a small and of a large block after the header block.
    private const int SmallBody = 4_096 - 512;
    private const int LargeBody = 65_536 - 512;

    // More than the end and the close notice take.
    private const int Reach = 40;

    [Theory, Values(SmallBody, LargeBody)]
    public async Task CloseNotice_AroundTheEdge_FollowsTheEnd(int edge)
    {
        await using var server = await TestServer.StartAsync(PatternAsync);
        var frontEnds = Enumerable.Range(edge - Reach, Reach + 2).ToDictionary(
            static length => length, _ => server.Connect());
        foreach (var frontEnd in frontEnds.Values)
            await frontEnd.AskAsync(RecordBytes.Get(uri: "/1"));

        var stopping = server.StopAsync();
        foreach (var (length, frontEnd) in frontEnds)
        {
            Assert.Equal(Apps.Pattern(length), (await frontEnd.AskAsync(RecordBytes.Get(uri: $"/{length}"))).Body);
            var notice = Assert.Single(frontEnd.ReadAvailable());
            Assert.Equal((RecordBytes.GetValuesResult, 0, 0), (notice.Type, notice.Id, notice.Content.Length));
            frontEnd.Close();
        }

        await stopping.Within("the stop");
    }

    /// <summary>A writer on top of the body may hold memory while another thread flushes.</summary>
    [Theory, Values(10, 1_000)]
    public async Task HeaderBlock_WhileMemoryIsHandedOut_DoesNotMoveIt(int headerLength)
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            // From now on a flush is sent at once.
            await go.Task;
            context.Features.Get<IHttpResponseBodyFeature>()!.DisableBuffering();
            context.Response.Headers["X-Pad"] = new string('x', headerLength);
            await context.Response.StartAsync();
            var writer = context.Response.BodyWriter;
            writer.Write("first "u8);
            var memory = writer.GetMemory(100);
            await context.Response.Body.FlushAsync();
            "second"u8.CopyTo(memory.Span);
            writer.Advance(6);
        });

        frontEnd.Send(RecordBytes.Get());
        go.SetResult();

        Assert.Equal("first second", (await frontEnd.ReadResponseAsync()).Text);
    }

    /// <summary>The header block takes 18 bytes.</summary>
    [Theory]
    [InlineData(981, 0)]
    [InlineData(982, 1)]
    public async Task Flush_OfAsMuchAsTheLimit_IsNotHeldForTheEnd(int length, int sends)
    {
        FrontEnd frontEnd = null!;
        var seen = -1;
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                await context.Response.Body.WriteAsync(new byte[length]);
                seen = frontEnd.Transport.SendCount;
            },
            static options => options.Limits.MaxResponseBufferSize = 1_000);
        frontEnd = server.Connect();

        Assert.Equal(length, (await frontEnd.AskAsync()).Body.Length);
        Assert.Equal(sends, seen);
    }

    private static async Task PatternAsync(HttpContext context)
        => await context.Response.Body.WriteAsync(Apps.Pattern(int.Parse(context.Request.Path.Value![1..])));
}
