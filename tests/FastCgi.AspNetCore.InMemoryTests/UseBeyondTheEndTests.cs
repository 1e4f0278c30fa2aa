namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A thread of an ended request finishes its work without reaching another request.</summary>
public sealed class UseBeyondTheEndTests
{
    // Enough requests to reuse each buffer of the first one.
    private const int Enough = 40;

    public static TheoryData<string, int> Ends => Rows.Cross(
        [
            "HEAD", "204", "205", "304", "200", "started", "abort", "cut", "500", "ABORT_REQUEST", "lost",
            "write", "complete", "advance", "span 200", "span write", "span complete", "span advance", "span rest",
        ],
        3_000, 60_000, 100_000);

    /// <summary>Another thread has memory of the body when the response ends, and writes there later.</summary>
    [Theory]
    [MemberData(nameof(Ends))]
    public async Task ResponseMemory_WrittenAfterTheEnd_IsInNoOtherResponse(string how, int length)
    {
        using var isLeased = new ManualResetEventSlim();
        using var isEnded = new ManualResetEventSlim();
        var writer = Task.CompletedTask;
        var (go, left) = (Waiting.Signal(), Waiting.Signal());
        await using var server = await TestServer.StartAsync(
            context => context.Request.Path == "/first"
            ? LeaveAsync(context)
            : WriteInTwoPartsAsync(context, length, go.Task));
        server.Logs.Expected.Add("ApplicationError");
        var first = server.Connect();
        first.Send(RecordBytes.Get(uri: "/first", method: how == "HEAD" ? how : "GET"));
        if (how == "ABORT_REQUEST")
            first.Send(RecordBytes.Abort());
        else if (how == "lost")
            first.Close();
        left.SetResult();
        await Waiting.UntilAsync(
            () => first.Transport.Connection.GetTotals().Active == 0, "the end of the first request");
        first.Close();
        await Waiting.UntilAsync(() => TestServer.CountUnfinished(first.Transport.Connection) == 0, "the application");
        var others = Enumerable.Range(0, Enough).Select(_ => server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Get()));
        isEnded.Set();
        await writer.Within("the other thread");
        go.SetResult();
        foreach (var other in others)
            Assert.Equal(new string('a', length) + new string('b', length), (await other.ReadResponseAsync()).Text);

        async Task LeaveAsync(HttpContext context)
        {
            var body = context.Response.BodyWriter;
            if (how is "started" or "abort" or "cut" or "ABORT_REQUEST" or "lost")
                await body.WriteAsync("start"u8.ToArray());
            if (int.TryParse(how, out var status) && status != 500)
                context.Response.StatusCode = status;
            if (how == "span rest")
            {
                body.GetMemory(20);
                body.Advance(10);
            }

            writer = Task.Factory.StartNew(
                () => WriteLate(body, length, how.StartsWith("span", StringComparison.Ordinal), isLeased, isEnded),
                TaskCreationOptions.LongRunning);
            Assert.True(isLeased.Wait(Waiting.Patience));
            if (how is "ABORT_REQUEST" or "lost")
                await left.Task;
            await EndAsync(context, how.Split(' ')[^1]);
        }
    }

    private static void WriteLate(
        PipeWriter body, int length, bool isSpan, ManualResetEventSlim isLeased, ManualResetEventSlim isEnded)
    {
        var memory = isSpan ? default : body.GetMemory(length);
        var span = isSpan ? body.GetSpan(length) : memory.Span;
        isLeased.Set();
        Assert.True(isEnded.Wait(Waiting.Patience));
        span.Fill((byte)'X');
    }

    private static async Task EndAsync(HttpContext context, string how)
    {
        var body = context.Response.BodyWriter;
        switch (how)
        {
            case "abort":
                context.Abort();
                break;
            case "cut" or "500":
                throw new InvalidOperationException("on purpose");
            case "write":
                await body.WriteAsync("own"u8.ToArray());
                break;
            case "complete":
                await body.CompleteAsync();
                break;
            case "advance":
                Put(body, 'c', 10);
                break;
            case "rest":
                // Of an earlier lease: the other thread has not advanced over its span.
                body.Advance(10);
                break;
        }
    }

    private static async Task WriteInTwoPartsAsync(HttpContext context, int length, Task go)
    {
        Put(context.Response.BodyWriter, 'a', length);
        context.Response.BodyWriter.GetMemory(length).Span[..length].Fill((byte)'b');
        await go;
        context.Response.BodyWriter.Advance(length);
    }

    private static void Put(PipeWriter writer, char c, int length)
    {
        writer.GetSpan(length)[..length].Fill((byte)c);
        writer.Advance(length);
    }

    /// <param name="isAdvanced">Whether the read has ended, with nothing consumed.</param>
    [Theory]
    [InlineData(10, false, false)]
    [InlineData(50_000, false, false)]
    [InlineData(10, true, false)]
    [InlineData(10, true, true)]
    [InlineData(50_000, true, true)]
    public async Task RequestMemory_ReadAfterTheEnd_IsStillItsOwn(int length, bool isAdvanced, bool isExamined)
    {
        var kept = new List<ReadOnlyMemory<byte>>();
        var own = Apps.Pattern(length);
        await using var server = await TestServer.StartAsync(async context =>
        {
            if (context.Request.Path != "/first")
            {
                await Apps.BodyHash(context);
                return;
            }

            var read = await context.Request.BodyReader.ReadAtLeastAsync(length);
            foreach (var segment in read.Buffer)
                kept.Add(segment);
            if (isAdvanced)
                context.Request.BodyReader.AdvanceTo(
                    read.Buffer.Start, isExamined ? read.Buffer.End : read.Buffer.Start);
        });
        var first = server.Connect();
        await first.AskAsync(RecordBytes.Post(1, "/first", own));

        var other = new byte[length];
        other.AsSpan().Fill((byte)'X');
        for (var i = 0; i < Enough; i++)
        {
            var frontEnd = server.Connect();
            Assert.Equal(Apps.HashOf(other), (await frontEnd.AskAsync(RecordBytes.Post(1, "/other", other))).Text);
        }

        Assert.Equal(own, kept.SelectMany(static segment => segment.ToArray()));
    }

    /// <summary>A stream gives the application copies, so what it has not read is in use by nobody.</summary>
    [Fact]
    public async Task RequestMemory_AfterACanceledReadOfTheStream_IsReused()
    {
        Exception? failure = null;
        await using var server = await TestServer.StartAsync(async context =>
        {
            var body = context.Request.Body;
            context.Request.BodyReader.CancelPendingRead();
            failure = await Record.ExceptionAsync(async () => await body.ReadExactlyAsync(new byte[1]));
        });

        await server.Connect().AskAsync(RecordBytes.Post(1, "/", Apps.Pattern(BufferPool.LargeBlockSize / 2)));

        Assert.IsType<OperationCanceledException>(failure);
        // The only large block: a block that may be in use is left to the garbage collector.
        Assert.InRange(server.Context.Buffers.AllocatedBytes, BufferPool.LargeBlockSize, long.MaxValue);
    }

    /// <summary>
    /// After the end of the response, no more of the body arrives: a read returns the available bytes, and then fails
    /// instead of waiting forever.
    /// </summary>
    [Theory, Values(true, false)]
    public async Task Body_ReadAfterTheResponseIsComplete_EndsAndReleasesItsSlot(bool isStarted)
    {
        var error = Waiting.Signal<Exception?>();
        await using var server = await TestServer.StartAsync(
            HandleAsync,
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 1));
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.PostHead(10), RecordBytes.Record(RecordBytes.Stdin, 1, "01234"u8));

        Assert.IsType<BadHttpRequestException>(await error.Task);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, "56789"u8), RecordBytes.Record(RecordBytes.Stdin, 1));
        var next = server.Connect();
        Assert.Equal(200, (await next.AskAsync()).Status);

        async Task HandleAsync(HttpContext context)
        {
            if (context.Request.Method == "GET")
            {
                await Apps.Hello(context);
                return;
            }

            var buffer = new byte[100];
            var length = isStarted ? await context.Request.Body.ReadAsync(buffer) : 0;
            var reading = isStarted ? context.Request.Body.ReadAsync(buffer).AsTask() : null;
            await context.Response.WriteAsync("x");
            await context.Response.CompleteAsync();
            error.SetResult(await Record.ExceptionAsync(async () =>
            {
                while (length < 10)
                    length += reading is null ? await context.Request.Body.ReadAsync(buffer) : await reading;
            }));
        }
    }

    /// <summary>A pending read that the application does not await.</summary>
    [Fact]
    [Contract("E4b", "T28")]
    public async Task RequestBody_ReadThatWaitsAtTheEnd_FailsAndTheNextBodyIsWhole()
    {
        Task? read = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            if (context.Request.Path != "/first")
                return Apps.BodyHash(context);

            read = context.Request.Body.ReadAsync(new byte[10]).AsTask();
            return Apps.Hello(context);
        });
        var body = Apps.Pattern(20_000);
        for (var i = 0; i < Enough; i++)
        {
            var first = server.Connect();
            await first.AskAsync(RecordBytes.Post(1, "/first", body)[..^(body.Length + 16)]);
            await Assert.ThrowsAsync<ObjectDisposedException>(() => read!.Within("the read"));

            var next = server.Connect();
            Assert.Equal(Apps.HashOf(body), (await next.AskAsync(RecordBytes.Post(1, "/next", body))).Text);
        }
    }

    /// <summary>An unawaited copy of the body: bytes that its destination has not taken stay unchanged.</summary>
    [Theory, Values("stream", "reader to stream", "reader to writer")]
    public async Task Body_CopiedBeyondTheEnd_IsNotThatOfAnotherRequest(string how)
    {
        var destination = new SlowStream();
        Task? copy = null;
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Application);
        frontEnd.Send(RecordBytes.PostHead(3, uri: "/first"), RecordBytes.StdinStream(1, "own"u8));
        await frontEnd.ReadResponseAsync();

        // All at once, so that they reuse each buffer of the first one.
        var others = Enumerable.Range(0, Enough).Select(_ => frontEnd.Server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Post(1, "/next", "secret"u8.ToArray())));
        destination.Continue.SetResult();
        await Record.ExceptionAsync(() => copy!.Within("the copy"));
        go.SetResult();
        foreach (var other in others)
            Assert.Equal(Apps.HashOf("secret"u8.ToArray()), (await other.ReadResponseAsync()).Text);

        Assert.Equal("own"u8, destination.ToArray());

        async Task Application(HttpContext context)
        {
            if (context.Request.Path != "/first")
            {
                await go.Task;
                await Apps.BodyHash(context);
                return;
            }

            copy = how switch
            {
                "stream" => context.Request.Body.CopyToAsync(destination),
                "reader to stream" => context.Request.BodyReader.CopyToAsync(destination),
                _ => context.Request.BodyReader.CopyToAsync(PipeWriter.Create(destination)),
            };
            await destination.HasBytes.Task;
        }
    }

    /// <summary>Each use fails because the request is over, even if its token is cancelled.</summary>
    [Theory, Values(false, true)]
    [Contract("D8", "T28")]
    public Task Bodies_UsedAfterTheEnd_AsKestrel(bool isCanceled) => Parity.AssertAsync((context, seen) =>
    {
        var token = new CancellationToken(isCanceled);
        var bytes = new byte[1];
        var (reader, received) = (context.Request.BodyReader, context.Request.Body);
        var (writer, sent) = (context.Response.BodyWriter, context.Response.Body);
        context.Response.OnCompleted(async () =>
        {
            await seen.TryAsync("read", () => reader.ReadAsync(token).AsTask());
            await seen.TryAsync("read at least", () => reader.ReadAtLeastAsync(1, token).AsTask());
            await seen.TryAsync("read stream", () => received.ReadAsync(bytes, token).AsTask());
            seen.Try("try read", () => reader.TryRead(out _));
            seen.Try("advance reader", () => reader.AdvanceTo(default));
            seen.Try("cancel read", reader.CancelPendingRead);
            seen.Try("complete reader", () => reader.Complete());
            await seen.TryAsync("write", () => writer.WriteAsync(bytes, token).AsTask());
            await seen.TryAsync("flush", () => writer.FlushAsync(token).AsTask());
            await seen.TryAsync("write stream", () => sent.WriteAsync(bytes, token).AsTask());
            await seen.TryAsync("flush stream", () => sent.FlushAsync(token));
            seen.Try("lease", () => writer.GetMemory());
            seen.Try("advance writer", () => writer.Advance(0));
            seen.Try("cancel flush", writer.CancelPendingFlush);
            seen.Try("complete writer", () => writer.Complete());
            seen.Note("unflushed", writer.UnflushedBytes);
        });
        return context.Response.WriteAsync("Hello");
    }, new TestRequest("POST") { Body = "0123456789"u8.ToArray() });

    /// <summary>Accepts writes when the test allows it.</summary>
    private sealed class SlowStream : MemoryStream
    {
        public TaskCompletionSource HasBytes { get; } = Waiting.Signal();

        public TaskCompletionSource Continue { get; } = Waiting.Signal();

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            HasBytes.TrySetResult();
            await Continue.Task;
            await base.WriteAsync(buffer, CancellationToken.None);
        }
    }
}
