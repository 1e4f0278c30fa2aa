using System.Text.Json;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

public class ResponseWriterTests
{
    /// <summary>A JSON writer holds a lease until its own flush. (Kestrel sends the bytes of others then.)</summary>
    [Theory, Values(10, 100_000)]
    [Contract("D3")]
    public async Task Flush_WhileAnotherWriterHoldsALease_LeaseStaysGood(int length)
    {
        var text = new string('x', length);
        var response = await TestServer.AskAsync(async context =>
        {
            await context.Response.StartAsync();
            await using var json = new Utf8JsonWriter(context.Response.BodyWriter);
            for (var i = 0; i < 3; i++)
            {
                json.WriteStartArray();
                json.WriteStringValue(text);
                await context.Response.BodyWriter.FlushAsync();
                json.WriteNumberValue(i);
                json.WriteEndArray();
                await json.FlushAsync();
                await context.Response.BodyWriter.FlushAsync();
                json.Reset();
            }
        });

        Assert.Equal($"[\"{text}\",0][\"{text}\",1][\"{text}\",2]", response.Text);
    }

    [Fact]
    [Contract("D5")]
    public async Task Writer_PeerGone_FlushCompletedAndBytesDropped()
    {
        var done = Waiting.Signal<FlushResult>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.StartAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Apps.UntilAborted(context));
            var writer = context.Response.BodyWriter;
            for (var i = 0; i < 100; i++)
            {
                writer.GetSpan(100_000).Clear();
                writer.Advance(100_000);
            }

            await context.Response.Body.WriteAsync(new byte[10]);
            done.SetResult(await writer.FlushAsync());
        });

        frontEnd.Send(RecordBytes.Get());
        frontEnd.Close();

        var flush = await done.Task.Within("the flush");
        Assert.Equal((true, false), (flush.IsCompleted, flush.IsCanceled));
    }

    /// <summary>A cancelled flush returns at once, and its bytes follow when the peer receives them.</summary>
    [Theory]
    [Contract("D5", "D6")]
    [Values("token", "token, then CancelPendingFlush", "CancelPendingFlush", "CancelPendingFlush before")]
    public async Task Flush_CancelledWhileThePeerIsSlow_ReturnsAndNothingIsLost(string how)
    {
        var done = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                await CancelFlushAsync(context.Response.BodyWriter, how);
                done.SetResult();
                Assert.False((await context.Response.BodyWriter.FlushAsync()).IsCanceled);
            },
            static options => options.Limits.MaxResponseBufferSize = 1_000);
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());
        await done.Task.Within("the cancelled flush");

        await DrainAsync(frontEnd);

        Assert.Equal(1 + 50_000, (await frontEnd.ReadResponseAsync()).Body.Length);
    }

    [Fact]
    [Contract("D10")]
    public async Task Write_MoreThanTheLimitWaits_CompletesWhenThePeerHasTaken()
    {
        var isWaiting = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.Body.WriteAsync(new byte[1]);
            Assert.True(context.Response.Body.WriteAsync(new byte[60 * 1024]).AsTask().IsCompleted);
            var write = context.Response.Body.WriteAsync(new byte[10 * 1024]).AsTask();
            Assert.False(write.IsCompleted);
            isWaiting.SetResult();
            await write;
        });
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get());
        await isWaiting.Task.Within("the write that waits");
        await DrainAsync(frontEnd);

        Assert.Equal(1 + 70 * 1024, (await frontEnd.ReadResponseAsync()).Body.Length);
    }

    private static async Task CancelFlushAsync(PipeWriter writer, string how)
    {
        await writer.WriteAsync(new byte[1]);
        writer.GetSpan(50_000).Clear();
        writer.Advance(50_000);
        using var source = new CancellationTokenSource();
        if (how == "CancelPendingFlush before")
            writer.CancelPendingFlush();
        var flush = writer.FlushAsync(source.Token).AsTask();
        if (how.StartsWith("token", StringComparison.Ordinal))
        {
            Assert.False(flush.IsCompleted);
            await source.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => flush);
            if (how == "token")
                return;

            writer.CancelPendingFlush();
            flush = writer.FlushAsync().AsTask();
        }
        else if (how == "CancelPendingFlush")
        {
            writer.CancelPendingFlush();
        }

        Assert.True((await flush.Within("the flush")).IsCanceled);
    }

    private static async Task DrainAsync(FrontEnd frontEnd)
    {
        frontEnd.Transport.ReleaseSend(continues: false);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.CountEnds().Count == 1, "END_REQUEST");
    }
}
