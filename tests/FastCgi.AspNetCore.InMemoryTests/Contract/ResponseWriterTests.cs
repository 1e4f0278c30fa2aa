using System.Text.Json;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

public class ResponseWriterTests
{
    [Fact]
    [Trait("Contract", "D1")]
    public async Task BodyAndBodyWriter_UsedInTurn_OrderKept()
    {
        var answer = await Parity.AssertAsync(async (context, _) =>
        {
            var response = context.Response;
            await response.Body.WriteAsync("a"u8.ToArray());
            response.BodyWriter.Write("b"u8);
            await response.Body.WriteAsync("c"u8.ToArray());
            response.BodyWriter.Write("d"u8);
            await response.BodyWriter.FlushAsync();
            await response.WriteAsync("e");
            response.BodyWriter.Write("f"u8);
            await response.Body.FlushAsync();
            await response.BodyWriter.WriteAsync("g"u8.ToArray());
            await response.BodyWriter.AsStream().WriteAsync("h"u8.ToArray());
        });

        Assert.Equal("abcdefgh", answer.Outcome.Text);
    }

    [Theory]
    [Trait("Contract", "D2")]
    [Trait("Contract", "T26")]
    [Values(0, 1, 4_096, 65_535, 65_536, 300_000)]
    public async Task GetMemory_SizeHint_AtLeastThatMuch(int hint) => await Parity.AssertAsync((context, seen) =>
    {
        var writer = context.Response.BodyWriter;
        seen.Note("memory", writer.GetMemory(hint).Length >= Math.Max(hint, 1));
        var span = writer.GetSpan(hint);
        seen.Note("span", span.Length >= Math.Max(hint, 1));
        span[..hint].Fill((byte)'x');
        writer.Advance(hint);
    });

    [Fact]
    [Trait("Contract", "D3")]
    public async Task Advance_WithoutOrPastALease_Throws() => await Parity.AssertAsync(async (context, seen) =>
    {
        var writer = context.Response.BodyWriter;
        seen.Try("no lease", () => writer.Advance(1));
        seen.Try("negative", () => writer.Advance(-1));
        var length = writer.GetMemory().Length;
        seen.Try("past the end", () => writer.Advance(length + 1));
        seen.Try("nothing", () => writer.Advance(0));
        await context.Response.StartAsync();
        seen.Try("leased before the start", () => writer.Advance(1));
    });

    [Fact]
    [Trait("Contract", "D3")]
    public async Task Advance_LeasedBeforeComplete_Throws() => await Parity.AssertAsync(async (context, seen) =>
    {
        var writer = context.Response.BodyWriter;
        writer.GetMemory();
        await context.Response.CompleteAsync();
        seen.Try("leased before the completion", () => writer.Advance(1));
    });

    /// <summary>A JSON writer holds a lease until its own flush. (Kestrel sends the bytes of others then.)</summary>
    [Theory]
    [Trait("Contract", "D3")]
    [Values(10, 100_000)]
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
    [Trait("Contract", "D4")]
    public async Task UnflushedBytes_Advanced_CountedUntilTheFlush()
        => await Parity.AssertAsync(async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            seen.Note("supported", writer.CanGetUnflushedBytes);
            seen.Note("none", writer.UnflushedBytes);
            writer.Write("abc"u8);
            seen.Note("three", writer.UnflushedBytes);
            await writer.FlushAsync();
            seen.Note("none again", writer.UnflushedBytes);
        });

    [Fact]
    [Trait("Contract", "D5")]
    public async Task Flush_TokenAlreadyCancelled_Throws() => await Parity.AssertAsync(async (context, seen) =>
    {
        var canceled = new CancellationToken(canceled: true);
        foreach (var isStarted in new[] { false, true })
        {
            await ThrowsCanceledAsync(
                seen, "flush writer", () => context.Response.BodyWriter.FlushAsync(canceled).AsTask());
            await ThrowsCanceledAsync(
                seen, "write writer", () => context.Response.BodyWriter.WriteAsync("x"u8.ToArray(), canceled).AsTask());
            await ThrowsCanceledAsync(seen, "flush stream", () => context.Response.Body.FlushAsync(canceled));
            await ThrowsCanceledAsync(
                seen, "write stream", () => context.Response.Body.WriteAsync("x"u8.ToArray(), canceled).AsTask());
            seen.Note("started", context.Response.HasStarted);
            if (!isStarted)
                await context.Response.StartAsync();
        }
    });

    [Fact]
    [Trait("Contract", "D5")]
    public async Task Flush_WaitsForASlowPeer_CanBeCancelledAndNothingIsLost()
    {
        var canceled = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                using var source = new CancellationTokenSource();
                await context.Response.Body.WriteAsync(new byte[1]);
                var flush = context.Response.Body.WriteAsync(new byte[100_000], source.Token).AsTask();
                Assert.False(flush.IsCompleted);
                await source.CancelAsync();
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => flush);
                canceled.SetResult();
            },
            static options => options.Limits.MaxResponseBufferSize = 1_000);
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get());
        await canceled.Task.Within("the cancelled flush");
        await DrainAsync(frontEnd);

        Assert.Equal(1 + 100_000, (await frontEnd.ReadResponseAsync()).Body.Length);
    }

    [Fact]
    [Trait("Contract", "D5")]
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

    [Fact]
    [Trait("Contract", "D6")]
    public async Task CancelPendingFlush_NoneIsPending_NextOneAndNoOther()
        => await Parity.AssertAsync(async (context, seen) =>
        {
            var writer = context.Response.BodyWriter;
            await context.Response.StartAsync();
            writer.CancelPendingFlush();
            writer.Write("abc"u8);
            seen.Note("next", (await writer.FlushAsync()).IsCanceled);
            seen.Note("one more", (await writer.FlushAsync()).IsCanceled);
        });

    [Theory]
    [Trait("Contract", "D6")]
    [Values(true, false)]
    public async Task CancelPendingFlush_SlowPeer_FlushReturnsAndNothingIsLost(bool isPending)
    {
        var done = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                var writer = context.Response.BodyWriter;
                await writer.WriteAsync(new byte[1]);
                writer.GetSpan(50_000).Clear();
                writer.Advance(50_000);
                if (!isPending)
                    writer.CancelPendingFlush();
                var flush = writer.FlushAsync().AsTask();
                if (isPending)
                    writer.CancelPendingFlush();
                Assert.True((await flush.Within("the flush")).IsCanceled);
                done.SetResult();
                Assert.False((await writer.FlushAsync()).IsCanceled);
            },
            static options => options.Limits.MaxResponseBufferSize = 1_000);
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get());
        await done.Task.Within("the cancelled flush");

        await DrainAsync(frontEnd);

        Assert.Equal(1 + 50_000, (await frontEnd.ReadResponseAsync()).Body.Length);
    }

    [Fact]
    [Trait("Contract", "D10")]
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

    private static async Task DrainAsync(FrontEnd frontEnd)
    {
        frontEnd.Transport.ReleaseSend(goesOn: false);
        await frontEnd.Transport.WaitUntilAsync(
            () => frontEnd.Transport.Sent is [.., 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "END_REQUEST");
    }

    private static async Task ThrowsCanceledAsync(Observations seen, string what, Func<Task> action)
    {
        try
        {
            await action();
            seen.Note(what, "done");
        }
        catch (OperationCanceledException)
        {
            seen.Note(what, "canceled");
        }
    }
}
