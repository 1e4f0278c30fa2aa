namespace FastCgi.AspNetCore.InMemoryTests.Contract;

public class RequestBodyReaderTests
{
    private static readonly TestRequest s_post = new("POST") { Body = "0123456789"u8.ToArray() };

    [Theory]
    [Trait("Contract", "E4")]
    [Values(true, false)]
    public async Task AdvanceTo_PartOfTheBuffer_RestIsReadAgain(bool hasLength)
    {
        var answer = await Parity.AssertAsync(
            static async (context, seen) =>
            {
                var reader = context.Request.BodyReader;
                var result = await reader.ReadAtLeastAsync(10);
                seen.Note("first", Encoding.ASCII.GetString(result.Buffer));
                reader.AdvanceTo(result.Buffer.GetPosition(4));
                seen.Note("try", reader.TryRead(out result));
                seen.Note("second", Encoding.ASCII.GetString(result.Buffer));
                reader.AdvanceTo(result.Buffer.GetPosition(2), result.Buffer.End);
                result = await reader.ReadAsync();
                seen.Note("third", $"{Encoding.ASCII.GetString(result.Buffer)} {result.IsCompleted}");
                reader.AdvanceTo(result.Buffer.End);
                result = await reader.ReadAsync();
                seen.Note("end", $"{result.Buffer.Length} {result.IsCompleted}");
                reader.AdvanceTo(result.Buffer.End);
            },
            s_post with { HasLength = hasLength });

        Assert.Equal(
            ["first: 0123456789", "try: True", "second: 456789", "third: 6789 True", "end: 0 True"], answer.Observed);
    }

    [Fact]
    [Trait("Contract", "E4")]
    public async Task Reader_WrongOrder_ThrowsAsKestrel() => await Parity.AssertAsync(
        static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            var result = await reader.ReadAtLeastAsync(10);
            await seen.TryAsync("read twice", () => reader.ReadAsync().AsTask());
            seen.Try("try twice", () => reader.TryRead(out _));
            reader.AdvanceTo(result.Buffer.GetPosition(1));
            await reader.CompleteAsync();
            await seen.TryAsync("read after completion", () => reader.ReadAsync().AsTask());
            seen.Try("try after completion", () => reader.TryRead(out _));
            seen.Try("advance after completion", () => reader.AdvanceTo(result.Buffer.End));
            await seen.TryAsync("stream after completion", () => context.Request.Body.ReadAsync(new byte[1]).AsTask());
            await seen.TryAsync("complete again", () => reader.CompleteAsync().AsTask());
        },
        s_post);

    [Fact]
    [Trait("Contract", "E4")]
    public async Task AdvanceTo_Twice_ThrowsAndTheRestIsRead() => await Parity.AssertAsync(
        static async (context, seen) =>
        {
            var reader = context.Request.BodyReader;
            seen.Try("advance before a read", () => reader.AdvanceTo(default));
            var buffer = (await reader.ReadAtLeastAsync(10)).Buffer;
            reader.AdvanceTo(buffer.GetPosition(2));
            seen.Try("advance twice", () => reader.AdvanceTo(buffer.GetPosition(5)));
            seen.Try("advance back", () => reader.AdvanceTo(buffer.Start, buffer.End));
            var rest = await reader.ReadAtLeastAsync(8);
            seen.Note("rest", Encoding.ASCII.GetString(rest.Buffer));
        },
        s_post);

    /// <summary>
    /// A position from an earlier result, whose memory was returned, is refused before anything changes. Otherwise the
    /// pipe would return all of its memory while the connection writes to it.
    /// </summary>
    [Theory]
    [Trait("Contract", "E4")]
    [Values(false, true)]
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

    [Fact]
    [Trait("Contract", "E4")]
    public async Task Complete_WithAnException_500()
    {
        var answer = await Parity.AssertAsync(
            static async (context, _)
                => await context.Request.BodyReader.CompleteAsync(new FormatException("on purpose")),
            s_post);

        Assert.Equal(500, answer.Outcome.Status);
        Assert.Equal(["FormatException: on purpose"], answer.ApplicationErrors);
    }

    [Fact]
    [Trait("Contract", "E4")]
    public async Task ReadAsync_WhileARead_IsPending_Throws()
    {
        var thrown = Waiting.Signal<Exception>();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var pending = context.Request.BodyReader.ReadAsync().AsTask();
            thrown.SetResult(await Assert.ThrowsAsync<InvalidOperationException>(
                async () => await context.Request.BodyReader.ReadAsync()));
            var result = await pending;
            context.Request.BodyReader.AdvanceTo(result.Buffer.Start);
            await Apps.BodyHash(context);
        });

        frontEnd.Send(RecordBytes.PostHead(3));
        await thrown.Task.Within("the second read");
        frontEnd.Send(RecordBytes.StdinStream(1, "abc"u8.ToArray()));

        Assert.Equal(Apps.HashOf("abc"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    [Trait("Contract", "E5")]
    public async Task CancelPendingRead_NoneIsPending_NextOneAndNoOther()
    {
        var answer = await Parity.AssertAsync(
            static async (context, seen) =>
            {
                var reader = context.Request.BodyReader;
                reader.CancelPendingRead();
                var result = await reader.ReadAsync();
                seen.Note("next", result.IsCanceled);
                reader.AdvanceTo(result.Buffer.Start);
                result = await reader.ReadAtLeastAsync(10);
                seen.Note("one more", $"{result.IsCanceled} {result.Buffer.Length}");
            },
            s_post);

        Assert.Equal(["next: True", "one more: False 10"], answer.Observed);
    }

    [Theory]
    [Trait("Contract", "E5")]
    [Values("cancel", "token", "token stream")]
    public async Task Read_CancelledWhileItWaits_BodyIsStillThere(string how)
    {
        var isCancelled = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var reader = context.Request.BodyReader;
            using var source = new CancellationTokenSource();
            Task read = how == "token stream" ? context.Request.Body.ReadAsync(new byte[1], source.Token)
                .AsTask() : reader.ReadAsync(source.Token).AsTask();
            if (how == "cancel")
            {
                reader.CancelPendingRead();
                var result = await (Task<ReadResult>)read;
                Assert.True(result.IsCanceled);
                reader.AdvanceTo(result.Buffer.Start);
            }
            else
            {
                await source.CancelAsync();
                await Assert.ThrowsAnyAsync<OperationCanceledException>(() => read);
            }

            isCancelled.SetResult();
            await Apps.BodyHash(context);
        });

        frontEnd.Send(RecordBytes.PostHead(3));
        await isCancelled.Task.Within("the cancelled read");
        frontEnd.Send(RecordBytes.StdinStream(1, "abc"u8.ToArray()));

        Assert.Equal(Apps.HashOf("abc"u8.ToArray()), (await frontEnd.ReadResponseAsync()).Text);
    }

    [Theory]
    [Trait("Contract", "E6")]
    [Values(true, false)]
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
}
