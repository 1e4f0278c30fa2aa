namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// The web server's error log (FastCGI specification, sections 3.3 and 6.1), and its writer, which is a
/// <see cref="TextWriter"/> like any other.
/// </summary>
public class StderrTests
{
    private static readonly Dictionary<string, (string[] Lines, Func<TextWriter, Task> Write)> s_writes = new()
    {
        ["lines in parts"] = (["first\n", "second\n", "third\n"], static async error =>
        {
            error.WriteLine("first");
            error.Write("sec");
            await error.WriteAsync("ond\nthird");
        }
        ),
        ["each overload"] = (["abcdefgh\n", "i\n", "j\n", "k\n"], static async error =>
        {
            error.Write('a');
            error.Write("bc".ToCharArray());
            error.Write("xdex".ToCharArray(), 1, 2);
            error.Write("f".AsSpan());
            error.Write((string?)null);
            await error.WriteAsync('g');
            error.WriteLine("h".AsSpan());
            error.WriteLine("i");
            error.Write("j");
            error.WriteLine();
            error.WriteLine();
            await error.WriteLineAsync('k');
        }
        ),
        ["a surrogate pair at the end of a line"] = (
            [new string('a', 1_999) + "\U0001F600\n", "b\n"],
            static error => error.WriteLineAsync(new string('a', 1_999) + "\U0001F600" + "b")),
        ["carriage return"] = (["a\\x0Db\n"], static error => error.WriteLineAsync("a\rb")),
        ["control characters"] = (
            ["a\\x00b\\x1B[31mc\\x7F\n"], static error => error.WriteLineAsync("a\0b\u001b[31mc\u007f")),
        ["control characters beyond ASCII"] = (
            ["a\\x9B31m\\x85\n"], static error => error.WriteLineAsync("a\u009b31m\u0085")),
        ["harmless characters"] = (["a\tb \\ é 😀\n"], static error => error.WriteLineAsync("a\tb \\ é 😀")),
    };

    private readonly TaskCompletionSource _go = Waiting.Signal();

    public static TheoryData<string> Writes => [.. s_writes.Keys];

    /// <summary>A record for each line, then the end, and then END_REQUEST. Control characters are escaped.</summary>
    [Theory, MemberData(nameof(Writes))]
    public async Task STDERR_AnyText_IsWellFormedLines(string text)
    {
        var (lines, write) = s_writes[text];
        var records = await RunAsync(async context =>
        {
            await write(Stderr.Of(context));
            await context.Response.WriteAsync("Hello");
        });

        Assert.Equal([.. lines, ""], Stderr.Read(records));
        Assert.Equal(RecordBytes.EndRequest, records[^1].Type);
        Assert.EndsWith("Hello", ReadStdout(records));
    }

    [Theory, Values(false, true)]
    public async Task STDERR_NothingWritten_NoRecord(bool isUsed)
        => Assert.Empty(Stderr.Read(
            await RunAsync(context => isUsed ? Stderr.Of(context).FlushAsync() : Apps.Hello(context))));

    /// <summary>nginx reads both into one buffer of a page.</summary>
    [Fact]
    public async Task STDERR_BeforeTheResponse_FollowsItsHeaderBlock()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            Stderr.Of(context).WriteLine("early");
            await _go.Task;
            await context.Response.WriteAsync("Hello");
            Stderr.Of(context).WriteLine("late");
        });

        frontEnd.Send(RecordBytes.Get());
        Assert.Empty(frontEnd.ReadAvailable());
        _go.SetResult();

        var records = await frontEnd.ReadRequestAsync();
        Assert.Equal(RecordBytes.Stdout, records[0].Type);
        Assert.Contains("\r\n\r\n", Encoding.ASCII.GetString(records[0].Content));
        Assert.Equal(["early\n", "late\n", ""], Stderr.Read(records));
    }

    [Fact]
    public async Task STDERR_WithAShortBody_ContentLengthIsKnown()
    {
        var records = await RunAsync(Apps.Do(context =>
        {
            Stderr.Of(context).WriteLine("a line");
            context.Response.BodyWriter.Write("Hello"u8);
        }));

        Assert.Contains("Content-Length: 5\r\n", Encoding.ASCII.GetString(records[0].Content));
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
            Stderr.Of(context).Write("going down");
            throw new InvalidOperationException("broken");
        }, expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get(3, "/other"), RecordBytes.Get(5));

        var records = await frontEnd.ReadRequestAsync();
        Assert.Equal(["going down\n", ""], Stderr.Read(records));
        Assert.Equal(
            [RecordBytes.Stdout, RecordBytes.Stderr, RecordBytes.Stderr, RecordBytes.EndRequest],
            records.Select(static record => record.Type));
        _go.SetResult();
        await frontEnd.ReadRequestAsync();
    }

    /// <summary>A line is sent when it ends or is flushed, and does not wait for the request.</summary>
    [Theory, Values("end", "flush", "dispose", "close")]
    public async Task Line_NotEnded_IsSentAtOnceWhen(string how)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            // Until the header block is sent, lines wait for it.
            await context.Response.Body.FlushAsync();
            var error = Stderr.Of(context);
            error.Write("half");
            switch (how)
            {
                case "end":
                    error.WriteLine();
                    break;
                case "flush":
                    await error.FlushAsync();
                    break;
                case "dispose":
                    await error.DisposeAsync();
                    break;
                default:
                    error.Close();
                    break;
            }

            await _go.Task;
            error.WriteLine(" and half");
        });
        frontEnd.Send(RecordBytes.Get());

        WireRecord record;
        while ((record = await frontEnd.ReadRecordAsync()).Type != RecordBytes.Stderr)
            Assert.Equal(RecordBytes.Stdout, record.Type);
        Assert.Equal("half\n", Encoding.UTF8.GetString(record.Content));
        _go.SetResult();
        Assert.Equal([" and half\n", ""], Stderr.Read(await frontEnd.ReadRequestAsync()));
    }

    /// <summary>
    /// First halves of surrogate pairs, of which none has a second one, are cut like other text: a record has 65,535
    /// bytes at the most.
    /// </summary>
    [Theory, Values(2_001, 20_000)]
    public async Task Line_OfOnlyFirstHalves_IsCutLikeAnyOther(int length)
    {
        var lines = Stderr.Read(await RunAsync(
            context => Stderr.Of(context).WriteLineAsync(new string('\uD800', length))));

        Assert.Equal(new string('\uFFFD', length), string.Concat(lines).ReplaceLineEndings(""));
        Assert.All(lines.SkipLast(1), static line => Assert.InRange(line.Length, 1, 2_002));
    }

    [Theory]
    [InlineData(9)]
    [InlineData(10)]
    [InlineData(11)]
    [InlineData(100_000)]
    [InlineData(10, long.MaxValue)]
    public async Task STDERR_MoreThanTheLimit_IsDropped(int length, long limit = 20)
    {
        var records = await RunAsync(
            async context =>
            {
                for (var i = 0; i < length; i++)
                    Stderr.Of(context).Write("x\n");
                await Apps.Hello(context);
            },
            options => options.Limits.MaxStandardErrorSize = limit);

        var note = length > 10
            ? "The rest of this request's standard error is dropped: MaxStandardErrorSize is 20 bytes.\n"
            : "";
        Assert.Equal(
            string.Concat(Enumerable.Repeat("x\n", Math.Min(10, length))) + note, string.Concat(Stderr.Read(records)));
        Assert.Equal("Hello", ReadStdout(records).Split("\r\n\r\n")[1]);
    }

    [Theory, Values(false, true)]
    public async Task STDERR_AfterTheResponseIsComplete_IsDropped(bool isUsedBefore)
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (isUsedBefore)
                Stderr.Of(context).WriteLine("before");
            await context.Response.CompleteAsync();
            Stderr.Of(context).WriteLine("after");
        });

        for (var i = 0; i < 2; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            Assert.Equal(isUsedBefore ? ["before\n", ""] : [], Stderr.Read(await frontEnd.ReadRequestAsync()));
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
            kept ??= Stderr.Of(context);
            feature ??= context.Features.Get<IFastCgiRequestFeature>();
            return Apps.Hello(context);
        });
        await frontEnd.AskAsync();

        Assert.Throws<ObjectDisposedException>(() => kept!.WriteLine("stale"));
        Assert.Throws<ObjectDisposedException>(() => feature!.StandardError);
        Assert.NotEmpty(feature!.Parameters);
        kept!.Flush();
        kept.Dispose();
        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Stderr.Read(await frontEnd.ReadRequestAsync()));
    }

    [Fact]
    public async Task ABORT_REQUEST_WhileLinesWait_TheyAreDroppedAndSoAreLaterOnes()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            Stderr.Of(context).WriteLine("before");
            await _go.Task;
            Stderr.Of(context).WriteLine("after");
        });
        frontEnd.Send(RecordBytes.Get());

        frontEnd.Send(RecordBytes.Abort());
        _go.SetResult();

        Assert.Equal(
            [RecordBytes.EndRequest], (await frontEnd.ReadRequestAsync()).Select(static record => record.Type));
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal(["before\n", "after\n", ""], Stderr.Read(await frontEnd.ReadRequestAsync()));
    }

    private static async Task<List<WireRecord>> RunAsync(
        RequestDelegate application, Action<FastCgiServerOptions>? configure = null)
    {
        await using var frontEnd = await TestServer.ConnectAsync(application, configure);
        frontEnd.Send(RecordBytes.Get());
        return await frontEnd.ReadRequestAsync();
    }

    private static string ReadStdout(IEnumerable<WireRecord> records)
        => string.Concat(records.Where(static record => record.Type == RecordBytes.Stdout).Select(
            static record => Encoding.UTF8.GetString(record.Content)));
}
