using System.Text.Json;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

public class RequestBodyReaderTests
{
    private static readonly JsonSerializerOptions s_smallBuffer = new() { DefaultBufferSize = 64 };

    /// <summary>Middleware examines the whole body, and the application reads it in small pieces.</summary>
    [Theory, Values("stream", "reader", "JSON", "canceled", "completed")]
    public Task Body_ExaminedAndNotConsumed_IsReadAgain(string how) => Parity.AssertAsync(
        async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            var peeked = (await reader.ReadAtLeastAsync(2_000)).Buffer;
            reader.AdvanceTo(peeked.Start, peeked.End);
            if (how == "canceled")
                reader.CancelPendingRead();
            if (how == "completed")
                await reader.CompleteAsync();

            if (how == "JSON")
            {
                await seen.TryAsync("numbers", async () => seen.Note(
                    "count",
                    (await JsonSerializer.DeserializeAsync<List<int>>(context.Request.Body, s_smallBuffer))!.Count));
            }
            else if (how == "reader")
            {
                var result = await reader.ReadAsync();
                seen.Note("length", result.Buffer.Length);
                reader.AdvanceTo(result.Buffer.GetPosition(4));
            }

            // On Kestrel, a canceled read must be advanced before the next.
            for (var i = how == "canceled" ? 1 : 0; i < 2; i++)
            {
                await seen.TryAsync(
                    "rest", async () => seen.Note("read", await context.Request.Body.ReadAsync(new byte[400])));
            }

            var feature = context.Features.GetRequiredFeature<IHttpMaxRequestBodySizeFeature>();
            seen.Note("limit", feature.IsReadOnly);
        },
        new TestRequest("POST") { Body = Encoding.ASCII.GetBytes($"[{string.Join(',', Enumerable.Range(0, 600))}]") });

    /// <summary>
    /// A position from an earlier result, whose memory was returned, is refused before anything changes. Otherwise the
    /// pipe would return all of its memory while the connection writes to it.
    /// </summary>
    [Theory, Values(false, true)]
    [Contract("E4")]
    public async Task AdvanceTo_PositionOfAResultBefore_ThrowsAndTheRestIsRead(bool isReading)
    {
        const int Length = 400_000;
        const int First = 100_000;
        var body = Apps.Pattern(Length);
        var read = new List<byte>();
        var isRefused = Waiting.Signal();
        var rest = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var reader = context.Request.BodyReader;
            var buffer = (await reader.ReadAtLeastAsync(First)).Buffer;
            var (start, end, position) = (buffer.Start, buffer.End, buffer.GetPosition(70_000));
            read.AddRange(buffer.Slice(0, position).ToArray());
            reader.AdvanceTo(position);
            if (isReading)
                Assert.True(reader.TryRead(out _));
            Assert.ThrowsAny<SystemException>(() => reader.AdvanceTo(start, end));
            if (isReading)
                reader.AdvanceTo(position);
            isRefused.SetResult();
            await rest.Task;
            for (var isCompleted = false; !isCompleted;)
            {
                var result = await reader.ReadAsync();
                isCompleted = result.IsCompleted;
                read.AddRange(result.Buffer.ToArray());
                reader.AdvanceTo(result.Buffer.End);
            }
        });
        var post = RecordBytes.Post(1, "/", body);
        var behind = First + 50_000;

        frontEnd.Send(post[..behind]);
        await isRefused.Task.Within("the reader to refuse the position");
        frontEnd.Send(post[behind..]);
        rest.SetResult();

        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        Assert.True(body.AsSpan().SequenceEqual(read.ToArray()), "The body is another one.");
    }

    /// <summary>None of them takes a byte of the body, which comes later.</summary>
    [Theory, Values("second read", "cancel", "token", "token stream", "no bytes")]
    [Contract("E4", "E5", "E11")]
    public async Task Read_WhileNothingHasCome_BodyIsStillThere(string how)
    {
        var isDone = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await ReadNothingAsync(context.Request, how, isDone);
            await Apps.BodyHash(context);
        });

        frontEnd.Send(RecordBytes.PostHead(3));
        await isDone.Task.Within("the read that takes nothing");
        frontEnd.Send(RecordBytes.StdinStream(1, "abc"u8.ToArray()));

        Assert.Equal(Apps.HashOf("abc"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory, Values(true, false)]
    [Contract("E6")]
    public async Task Abort_WhileReading_ThisAndEveryLaterReadFails(bool byApplication)
    {
        var observed = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            Task read = context.Request.Body.ReadAtLeastAsync(new byte[1], 1).AsTask();
            if (byApplication)
                context.Abort();
            await Assert.ThrowsAnyAsync<Exception>(() => read);
            await Assert.ThrowsAnyAsync<Exception>(
                async () => await context.Request.Body.ReadExactlyAsync(new byte[1]));
            await Assert.ThrowsAnyAsync<Exception>(async () => await context.Request.BodyReader.ReadAsync());
            observed.SetResult();
        });

        frontEnd.Send(RecordBytes.PostHead(3));
        if (!byApplication)
            frontEnd.Close();

        await observed.Task.Within("the failing reads");
    }

    private static async Task ReadNothingAsync(HttpRequest request, string how, TaskCompletionSource isDone)
    {
        var reader = request.BodyReader;
        using var source = new CancellationTokenSource();
        if (how == "no bytes")
        {
            var empty = request.Body.ReadAsync(Memory<byte>.Empty).AsTask();
            Assert.False(empty.IsCompleted);
            isDone.SetResult();
            Assert.Equal(0, await empty);
            Assert.Equal(0, await request.Body.ReadAsync(Memory<byte>.Empty));
        }
        else if (how == "token stream")
        {
            var read = request.Body.ReadAsync(new byte[1], source.Token).AsTask();
            await source.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => read);
        }
        else
        {
            var read = reader.ReadAsync(source.Token).AsTask();
            if (how == "cancel")
                reader.CancelPendingRead();
            if (how == "token")
                await source.CancelAsync();
            if (how == "second read")
            {
                await Assert.ThrowsAsync<InvalidOperationException>(async () => await reader.ReadAsync());
                isDone.SetResult();
            }

            if (how == "token")
            {
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => read);
            }
            else
            {
                var result = await read;
                Assert.Equal(how == "cancel", result.IsCanceled);
                reader.AdvanceTo(result.Buffer.Start);
            }
        }

        isDone.TrySetResult();
    }
}
