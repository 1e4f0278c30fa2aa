using System.Text;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// What clients that read nothing make the server hold: the limit and one block for each response, however much the application writes at a
/// time, because memory is counted and not what is used of it.
/// </summary>
public sealed class HeldMemoryTests
{
    private const int Clients = 20;
    private const int Limit = 64 * 1024;

    // Before a slab is cut, and for the receive.
    private const int Slack = 2 * 8 * BufferPool.LargeBlockSize;

    [Theory]
    [InlineData(1)]
    [InlineData(25)]
    [InlineData(1_000)]
    [InlineData(4_000)]
    [InlineData(4_096)]
    [InlineData(60_000)]
    [InlineData(65_536)]
    public async Task Responses_ThatNobodyTakes_HoldTheLimitAndABlock(int length)
    {
        await using var server = await TestServer.StartAsync(context => WriteUntilAbortedAsync(context, length));
        var frontEnds = Enumerable.Range(0, Clients).Select(_ => server.Connect()).ToList();
        foreach (var frontEnd in frontEnds)
        {
            frontEnd.Transport.HoldSends();
            frontEnd.Send(RecordBytes.Get());
        }

        await WaitUntilAllWaitAsync(server, Clients);

        Assert.InRange(server.Context.Buffers.AllocatedBytes, 0, (Clients * (Limit + BufferPool.LargeBlockSize)) + Slack);
        frontEnds.ForEach(static frontEnd => frontEnd.Close());
    }

    [Fact]
    public async Task Responses_OfOneConnection_HoldTheLimitAndABlockEach()
    {
        await using var server = await TestServer.StartAsync(static context => WriteUntilAbortedAsync(context, 1));
        var frontEnd = server.Connect();
        frontEnd.Transport.HoldSends();
        for (var id = 1; id <= Clients; id++)
            frontEnd.Send(RecordBytes.Get(id));

        await WaitUntilAllWaitAsync(server, Clients);

        Assert.InRange(server.Context.Buffers.AllocatedBytes, 0, (Clients * (Limit + BufferPool.LargeBlockSize)) + Slack);
        frontEnd.Close();
    }

    /// <summary>What is said of the lines that are dropped is the last.</summary>
    [Fact]
    public async Task StandardError_OfLinesOfACharacter_HoldsTheLimitAndABlock()
    {
        await using var server = await TestServer.StartAsync(
            static context =>
            {
                var error = context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;
                for (var i = 0; i < 32_000; i++)
                    error.Write("x\n");
                return Apps.Hello(context);
            },
            static options => options.Limits.MaxStandardErrorSize = Limit);
        var frontEnd = server.Connect();
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get(99));
        frontEnd.Send(RecordBytes.Get());

        Assert.InRange(server.Context.Buffers.AllocatedBytes, 0, (2 * (Limit + (2 * BufferPool.LargeBlockSize))) + Slack);
        frontEnd.Transport.ReleaseSend(goesOn: false);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.Sent.AsSpan().IndexOf("Hello"u8) >= 0, "the answer");
        var errors = frontEnd.ReadAvailable().Where(static record => record is { Id: 1, Type: RecordBytes.Stderr, Content.Length: > 0 }).ToList();
        Assert.InRange(errors.Count, Limit / 10, 32_000);
        Assert.All(errors.SkipLast(1), static record => Assert.Equal("x\n"u8, record.Content));
        Assert.StartsWith("The rest of this request's standard error is dropped", Encoding.ASCII.GetString(errors[^1].Content), StringComparison.Ordinal);
    }

    private static async Task WriteUntilAbortedAsync(HttpContext context, int length)
    {
        context.Features.GetRequiredFeature<IHttpResponseBodyFeature>().DisableBuffering();
        var bytes = new byte[length];
        while (!context.RequestAborted.IsCancellationRequested)
            await context.Response.Body.WriteAsync(bytes);
    }

    private static Task WaitUntilAllWaitAsync(TestServer server, int count) => Waiting.UntilAsync(
        () => server.Connections.DescribeRequests(count + 1).Count(static request => request.Activity == Requests.RequestActivity.WaitingForClient) == count,
        "all applications to wait");
}
