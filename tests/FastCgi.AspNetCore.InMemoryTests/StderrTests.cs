namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The web server's error log (FastCGI specification, sections 3.3 and 6.1).</summary>
public class StderrTests
{
    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Fact]
    public async Task STDERR_Lines_ARecordEachThenTheEndThenEndRequest()
    {
        var records = await RunAsync(async context =>
        {
            var error = StandardErrorOf(context);
            error.WriteLine("first");
            error.Write("sec");
            error.Write("ond\nthird");
            await context.Response.WriteAsync("Hello");
        });

        Assert.Equal(["first\n", "second\n", "third\n", ""], Texts(records, RecordBytes.Stderr));
        Assert.Equal(RecordBytes.EndRequest, records[^1].Type);
        Assert.EndsWith("Hello", string.Concat(Texts(records, RecordBytes.Stdout)), StringComparison.Ordinal);
    }

    [Theory, Values(false, true)]
    public async Task STDERR_NothingWritten_NoRecord(bool isUsed)
    {
        var records = await RunAsync(context => isUsed ? StandardErrorOf(context).FlushAsync() : Apps.Hello(context));

        Assert.Empty(Texts(records, RecordBytes.Stderr));
    }

    /// <summary>nginx reads both into one buffer of a page.</summary>
    [Fact]
    public async Task STDERR_BeforeTheResponse_FollowsItsHeaderBlock()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine("early");
            await _go.Task;
            await context.Response.WriteAsync("Hello");
            StandardErrorOf(context).WriteLine("late");
        });

        frontEnd.Send(RecordBytes.Get());
        Assert.Empty(frontEnd.ReadAvailable());
        _go.SetResult();

        var records = await frontEnd.ReadRequestAsync();
        Assert.Equal(RecordBytes.Stdout, records[0].Type);
        Assert.Contains("\r\n\r\n", Encoding.ASCII.GetString(records[0].Content), StringComparison.Ordinal);
        Assert.Equal(["early\n", "late\n", ""], Texts(records, RecordBytes.Stderr));
    }

    [Fact]
    public async Task STDERR_WithAShortBody_ContentLengthIsKnown()
    {
        var records = await RunAsync(Apps.Do(context =>
        {
            StandardErrorOf(context).WriteLine("a line");
            context.Response.BodyWriter.Write("Hello"u8);
        }));

        Assert.Contains(
            "Content-Length: 5\r\n", Encoding.ASCII.GetString(records[0].Content), StringComparison.Ordinal);
        Assert.Equal(
            [RecordBytes.Stdout, RecordBytes.Stderr, RecordBytes.Stderr, RecordBytes.Stdout, RecordBytes.EndRequest],
            records.Select(static record => record.Type));
    }

    [Fact]
    public async Task STDERR_ApplicationFailsAfterTheStart_StderrEndsBeforeEndRequest()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/other")
            {
                await _go.Task;
                return;
            }

            await context.Response.WriteAsync("Hello");
            StandardErrorOf(context).Write("going down");
            throw new InvalidOperationException("broken");
        }, expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get(3, "/other"), RecordBytes.Get(5));

        var records = await frontEnd.ReadRequestAsync();
        Assert.Equal(["going down\n", ""], Texts(records, RecordBytes.Stderr));
        Assert.Equal(
            [RecordBytes.Stdout, RecordBytes.Stderr, RecordBytes.Stderr, RecordBytes.EndRequest],
            records.Select(static record => record.Type));
        _go.SetResult();
        await frontEnd.ReadRequestAsync();
    }

    [Theory]
    [InlineData("a\rb", @"a\x0Db")]
    [InlineData("a\0b\u001b[31mc\u007f", @"a\x00b\x1B[31mc\x7F")]
    [InlineData("a\u009b31m\u0085", @"a\x9B31m\x85")]
    [InlineData("a\tb \\ é 😀", "a\tb \\ é 😀")]
    public async Task STDERR_ControlCharacters_AreEscaped(string text, string expected)
    {
        var records = await RunAsync(context => StandardErrorOf(context).WriteLineAsync(text));

        Assert.Equal(expected + "\n", Texts(records, RecordBytes.Stderr)[0]);
    }

    [Theory, Values(9, 10, 11, 100_000)]
    public async Task STDERR_MoreThanTheLimit_IsDropped(int length)
    {
        var records = await RunAsync(
            async context =>
            {
                for (var i = 0; i < length; i++)
                    StandardErrorOf(context).Write("x\n");
                await Apps.Hello(context);
            },
            options => options.Limits.MaxStandardErrorSize = 20);

        var text = string.Concat(Texts(records, RecordBytes.Stderr));
        var note = length > 10
            ? "The rest of this request's standard error is dropped: MaxStandardErrorSize is 20 bytes.\n"
            : "";
        Assert.Equal(string.Concat(Enumerable.Repeat("x\n", Math.Min(10, length))) + note, text);
        Assert.Equal("Hello", string.Concat(Texts(records, RecordBytes.Stdout)).Split("\r\n\r\n")[1]);
    }

    [Theory, Values(false, true)]
    public async Task STDERR_AfterTheResponseIsComplete_IsDropped(bool isUsedBefore)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (isUsedBefore)
                StandardErrorOf(context).WriteLine("before");
            await context.Response.CompleteAsync();
            StandardErrorOf(context).WriteLine("after");
        });

        for (var i = 0; i < 2; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal(
                isUsedBefore ? ["before\n", ""] : [], Texts(await frontEnd.ReadRequestAsync(), RecordBytes.Stderr));
        }

        Assert.Empty(frontEnd.ReadAvailable());
    }

    [Fact]
    public async Task STDERR_AfterTheRequest_ThrowsAndTheNextRequestIsUntouched()
    {
        TextWriter? kept = null;
        IFastCgiRequestFeature? feature = null;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            kept ??= StandardErrorOf(context);
            feature ??= context.Features.Get<IFastCgiRequestFeature>();
            return Apps.Hello(context);
        });
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadRequestAsync();

        Assert.Throws<ObjectDisposedException>(() => kept!.WriteLine("stale"));
        Assert.Throws<ObjectDisposedException>(() => feature!.StandardError);
        Assert.NotEmpty(feature!.Parameters);
        kept!.Flush();
        kept.Dispose();
        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Texts(await frontEnd.ReadRequestAsync(), RecordBytes.Stderr));
    }

    [Fact]
    public async Task ABORT_REQUEST_WhileLinesWait_TheyAreDroppedAndSoAreLaterOnes()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine("before");
            await _go.Task;
            StandardErrorOf(context).WriteLine("after");
        });
        frontEnd.Send(RecordBytes.Get());

        frontEnd.Send(RecordBytes.Abort());
        _go.SetResult();

        Assert.Equal(
            [RecordBytes.EndRequest], (await frontEnd.ReadRequestAsync()).Select(static record => record.Type));
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal(["before\n", "after\n", ""], Texts(await frontEnd.ReadRequestAsync(), RecordBytes.Stderr));
    }

    private static TextWriter StandardErrorOf(HttpContext context)
        => context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;

    private static async Task<List<WireRecord>> RunAsync(
        RequestDelegate application, Action<FastCgiServerOptions>? configure = null)
    {
        await using var frontEnd = await TestServer.ConnectAsync(application, configure);
        frontEnd.Send(RecordBytes.Get());
        return await frontEnd.ReadRequestAsync();
    }

    private static List<string> Texts(IEnumerable<WireRecord> records, byte type)
        => [.. records.Where(record => record.Type == type).Select(
            static record => Encoding.UTF8.GetString(record.Content))];
}
