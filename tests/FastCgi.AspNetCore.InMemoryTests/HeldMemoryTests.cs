namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// The memory that the server holds for clients that read nothing: the limit plus one block for each response, however
/// much the application writes at a time. The limit counts allocated memory, not its used part.
/// </summary>
public sealed class HeldMemoryTests
{
    private const int Clients = 20;
    private const int Limit = 64 * 1024;

    // Before a block is allocated, and for the receive.
    private const int Slack = 2 * 8 * BufferPool.LargeBlockSize;

    [Theory, Values(1, 25, 1_000, 4_000, 4_096, 60_000, 65_536)]
    public async Task Responses_ThatAreNotTaken_HoldTheLimitAndABlock(int length)
    {
        await using var server = await TestServer.StartAsync(context => WriteUntilAbortedAsync(context, length));
        var frontEnds = Enumerable.Range(0, Clients).Select(_ => server.Connect()).ToList();
        foreach (var frontEnd in frontEnds)
        {
            frontEnd.Transport.HoldSends();
            frontEnd.Send(RecordBytes.Get());
        }

        await WaitUntilAllWaitAsync(server, Clients);

        Assert.InRange(
            server.Context.Buffers.AllocatedBytes, 0, (Clients * (Limit + BufferPool.LargeBlockSize)) + Slack);
        frontEnds.ForEach(static frontEnd => frontEnd.Close());
    }

    private static async Task WriteUntilAbortedAsync(HttpContext context, int length)
    {
        context.Features.GetRequiredFeature<IHttpResponseBodyFeature>().DisableBuffering();
        var bytes = new byte[length];
        while (!context.RequestAborted.IsCancellationRequested)
            await context.Response.Body.WriteAsync(bytes);
    }

    private static Task WaitUntilAllWaitAsync(TestServer server, int count) => Waiting.UntilAsync(
        () => server.Connections.DescribeRequests(count + 1).Count(
            static request => request.State == "waiting for the web server to accept the response") == count,
        "all applications to wait");
}
