namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Memory that an application got from a body and kept: later reads and writes there affect no other request.
/// </summary>
public sealed class LeasedMemoryTests
{
    // Enough requests to reuse each buffer of the first one.
    private const int Others = 40;

    public static TheoryData<string, int> Ends => Rows.Cross(
        ["HEAD", "204", "205", "304", "200", "started", "abort", "cut", "500", "ABORT_REQUEST", "lost"],
        1, 3_000, 60_000);

    [Theory]
    [MemberData(nameof(Ends))]
    public async Task ResponseMemory_WrittenAfterTheEnd_IsInNoOtherResponse(string how, int length)
    {
        Memory<byte> kept = default;
        var go = Waiting.Signal();
        var left = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => context.Request.Path == "/first" ? KeepAsync(context) : WriteInTwoPartsAsync(context, go.Task));
        server.Logs.Expected.Add("ApplicationError");
        var first = server.Connect();
        first.Send(RecordBytes.Get(uri: "/first", method: how == "HEAD" ? "HEAD" : "GET"));
        if (how == "ABORT_REQUEST")
            first.Send(RecordBytes.Abort());
        else if (how == "lost")
            first.Close();
        left.SetResult();
        await Waiting.UntilAsync(() => first.Transport.Connection.RequestCount == 0, "the end of the first request");
        first.Close();
        await Waiting.UntilAsync(() => TestServer.CountUnfinished(first.Transport.Connection) == 0, "the application");

        var others = Enumerable.Range(0, Others).Select(_ => server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Get()));
        kept.Span.Fill((byte)'X');
        go.SetResult();

        foreach (var other in others)
            Assert.Equal(new string('a', length) + new string('b', length), (await other.ReadResponseAsync()).Text);

        async Task KeepAsync(HttpContext context)
        {
            if (how is "started" or "abort" or "cut" or "ABORT_REQUEST" or "lost")
                await context.Response.BodyWriter.WriteAsync("start"u8.ToArray());
            if (int.TryParse(how, out var status) && status != 500)
                context.Response.StatusCode = status;
            kept = context.Response.BodyWriter.GetMemory(length);
            if (how is "ABORT_REQUEST" or "lost")
                await left.Task;
            if (how == "abort")
                context.Abort();
            if (how is "cut" or "500")
                throw new InvalidOperationException("on purpose");
        }

        async Task WriteInTwoPartsAsync(HttpContext context, Task signal)
        {
            Put(context.Response.BodyWriter, 'a', length);
            await signal;
            Put(context.Response.BodyWriter, 'b', length);
        }
    }

    /// <summary>Another thread has memory when the application uses or ends the response, and writes later.</summary>
    [Theory]
    [InlineData("return", true)]
    [InlineData("write", true)]
    [InlineData("complete", true)]
    [InlineData("advance", true)]
    [InlineData("advance", false)]
    public async Task ResponseMemory_WrittenByAnotherThreadAfterTheEnd_IsInNoOtherResponse(string how, bool isSpan)
    {
        const int Length = 3_000;
        using var isLeased = new ManualResetEventSlim();
        using var isEnded = new ManualResetEventSlim();
        var writer = Task.CompletedTask;
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context => context.Request.Path == "/first" ? LeaveAsync(context) : WriteInTwoPartsAsync(context));
        Assert.Equal(200, (await server.Connect().AskAsync(RecordBytes.Get(uri: "/first"))).Status);

        var others = Enumerable.Range(0, Others).Select(_ => server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Get()));
        isEnded.Set();
        await writer.Within("the other thread");
        go.SetResult();

        foreach (var other in others)
            Assert.Equal(new string('a', Length) + new string('b', Length), (await other.ReadResponseAsync()).Text);

        async Task LeaveAsync(HttpContext context)
        {
            var body = context.Response.BodyWriter;
            writer = Task.Factory.StartNew(() => WriteLate(body), TaskCreationOptions.LongRunning);
            Assert.True(isLeased.Wait(Waiting.Patience));
            if (how == "write")
                await body.WriteAsync("own"u8.ToArray());
            if (how == "complete")
                await body.CompleteAsync();
            if (how == "advance")
                Put(body, 'c', 10);
        }

        void WriteLate(PipeWriter body)
        {
            var memory = isSpan ? default : body.GetMemory(Length);
            var span = isSpan ? body.GetSpan(Length) : memory.Span;
            isLeased.Set();
            Assert.True(isEnded.Wait(Waiting.Patience));
            span.Fill((byte)'X');
        }

        async Task WriteInTwoPartsAsync(HttpContext context)
        {
            Put(context.Response.BodyWriter, 'a', Length);
            await go.Task;
            Put(context.Response.BodyWriter, 'b', Length);
        }
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
        for (var i = 0; i < Others; i++)
        {
            var frontEnd = server.Connect();
            Assert.Equal(Apps.HashOf(other), (await frontEnd.AskAsync(RecordBytes.Post(1, "/other", other))).Text);
        }

        Assert.Equal(own, kept.SelectMany(static segment => segment.ToArray()));
    }

    /// <summary>A stream gives the application copies, so what it has not read is in use by nobody.</summary>
    [Fact]
    public async Task RequestMemory_AfterACancelledReadOfTheStream_IsReused()
    {
        Exception? failure = null;
        await using var server = await TestServer.StartAsync(async context =>
        {
            context.Request.BodyReader.CancelPendingRead();
            failure = await Record.ExceptionAsync(() => context.Request.Body.ReadAsync(new byte[1]).AsTask());
        });

        await server.Connect().AskAsync(RecordBytes.Post(1, "/", Apps.Pattern(BufferPool.LargeBlockSize / 2)));

        Assert.IsType<OperationCanceledException>(failure);
        // The only large block: a block that may be in use is left to the garbage collector.
        Assert.InRange(server.Context.Buffers.AllocatedBytes, BufferPool.LargeBlockSize, long.MaxValue);
    }

    private static void Put(PipeWriter writer, char c, int length)
    {
        writer.GetSpan(length)[..length].Fill((byte)c);
        writer.Advance(length);
    }
}
