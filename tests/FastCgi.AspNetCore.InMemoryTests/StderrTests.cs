using System.Buffers;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The web server's error log (FastCGI specification, sections 3.3 and 6.1).</summary>
public class StderrTests
{
    [Fact]
    public async Task STDERR_Lines_ARecordEachThenTheEndThenEndRequest()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            var error = StandardErrorOf(context);
            error.WriteLine("first");
            error.Write("sec");
            error.Write("ond\nthird");
            await context.Response.WriteAsync("Hello");
        });

        frontEnd.Send(RecordBytes.Get());

        var records = await ReadRequestAsync(frontEnd);
        Assert.Equal(["first\n", "second\n", "third\n", ""], Texts(records, RecordBytes.Stderr));
        Assert.Equal(RecordBytes.EndRequest, records[^1].Type);
        Assert.EndsWith("Hello", string.Concat(Texts(records, RecordBytes.Stdout)), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(2_000, 1)]
    [InlineData(2_001, 2)]
    [InlineData(4_001, 3)]
    public async Task STDERR_LineBeyondTheLimit_BecomesSeveral(int length, int records)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Do(context => StandardErrorOf(context).WriteLine(new string('x', length))));

        frontEnd.Send(RecordBytes.Get());

        var texts = Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr).Where(static text => text.Length > 0).ToList();
        Assert.Equal(records, texts.Count);
        Assert.All(texts, static text => Assert.InRange(text.TrimEnd('\n').Length, 1, 2_000));
    }

    [Fact]
    public async Task STDERR_NotUsed_NoRecord()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);

        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
    }

    [Fact]
    public async Task STDERR_UsedButNothingWritten_NoRecord()
    {
        await using var frontEnd = await TestServer.ConnectAsync(context => StandardErrorOf(context).FlushAsync());

        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
    }

    [Fact]
    public async Task STDERR_Line_IsSentWhileTheApplicationGoesOn()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.Body.FlushAsync();
            StandardErrorOf(context).WriteLine("working on it");
            await go.Task;
        });

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(RecordBytes.Stdout, (await frontEnd.ReadRecordAsync()).Type);
        var record = await frontEnd.ReadRecordAsync();
        Assert.Equal((RecordBytes.Stderr, "working on it\n"), (record.Type, Encoding.UTF8.GetString(record.Content)));
        go.SetResult();
        await ReadRequestAsync(frontEnd);
    }

    /// <summary>nginx reads both into one buffer of a page.</summary>
    [Fact]
    public async Task STDERR_BeforeTheResponse_IsBehindItsHeaderBlock()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine("early");
            await go.Task;
            await context.Response.WriteAsync("Hello");
            StandardErrorOf(context).WriteLine("late");
        });

        frontEnd.Send(RecordBytes.Get());
        Assert.Empty(frontEnd.ReadAvailable());
        go.SetResult();

        var records = await ReadRequestAsync(frontEnd);
        Assert.Equal(RecordBytes.Stdout, records[0].Type);
        Assert.Contains("\r\n\r\n", Encoding.ASCII.GetString(records[0].Content), StringComparison.Ordinal);
        Assert.Equal(["early\n", "late\n", ""], Texts(records, RecordBytes.Stderr));
    }

    [Fact]
    public async Task STDERR_WithAShortBody_ContentLengthIsKnown()
    {
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            StandardErrorOf(context).WriteLine("a line");
            context.Response.BodyWriter.Write("Hello"u8);
            return Task.CompletedTask;
        });

        frontEnd.Send(RecordBytes.Get());

        var records = await ReadRequestAsync(frontEnd);
        Assert.Contains("Content-Length: 5\r\n", Encoding.ASCII.GetString(records[0].Content), StringComparison.Ordinal);
        Assert.Equal(
            [RecordBytes.Stdout, RecordBytes.Stderr, RecordBytes.Stderr, RecordBytes.Stdout, RecordBytes.EndRequest],
            records.Select(static record => record.Type));
    }

    [Fact]
    public async Task STDERR_ApplicationFailsAfterTheStart_StderrEndsBeforeEndRequest()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            if (context.Request.Path == "/other")
            {
                await go.Task;
                return;
            }

            await context.Response.WriteAsync("Hello");
            StandardErrorOf(context).Write("going down");
            throw new InvalidOperationException("broken");
        });
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        frontEnd.Send(RecordBytes.Get(3, "/other"), RecordBytes.Get(5));

        var records = await ReadRequestAsync(frontEnd);
        Assert.Equal(["going down\n", ""], Texts(records, RecordBytes.Stderr));
        Assert.Equal([RecordBytes.Stdout, RecordBytes.Stderr, RecordBytes.Stderr, RecordBytes.EndRequest], records.Select(static record => record.Type));
        go.SetResult();
        await ReadRequestAsync(frontEnd);
    }

    [Theory]
    [InlineData("a\rb", @"a\x0Db")]
    [InlineData("a\0b\u001b[31mc\u007f", @"a\x00b\x1B[31mc\x7F")]
    [InlineData("a\u009b31m\u0085", @"a\x9B31m\x85")]
    [InlineData("a\tb \\ é 😀", "a\tb \\ é 😀")]
    public async Task STDERR_ControlCharacters_AreEscaped(string text, string expected)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context => StandardErrorOf(context).WriteLineAsync(text));

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(expected + "\n", Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr)[0]);
    }

    [Theory, Values(9, 10, 11, 100_000)]
    public async Task STDERR_MoreThanTheLimit_IsDropped(int length)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                for (var i = 0; i < length; i++)
                    StandardErrorOf(context).Write("x\n");
                await Apps.Hello(context);
            },
            options => options.Limits.MaxStandardErrorSize = 20);

        frontEnd.Send(RecordBytes.Get());

        var records = await ReadRequestAsync(frontEnd);
        var text = string.Concat(Texts(records, RecordBytes.Stderr));
        var note = length > 10 ? "The rest of this request's standard error is dropped: MaxStandardErrorSize is 20 bytes.\n" : "";
        Assert.Equal(string.Concat(Enumerable.Repeat("x\n", Math.Min(10, length))) + note, text);
        Assert.Equal("Hello", string.Concat(Texts(records, RecordBytes.Stdout)).Split("\r\n\r\n")[1]);
    }

    [Fact]
    public async Task STDERR_AfterTheResponseIsComplete_IsDropped()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine("before");
            await context.Response.CompleteAsync();
            StandardErrorOf(context).WriteLine("after");
        });

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(["before\n", ""], Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
        frontEnd.Send(RecordBytes.Get());
        await ReadRequestAsync(frontEnd);
    }

    [Fact]
    public async Task STDERR_FirstUsedAfterTheResponseIsComplete_IsDropped()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.CompleteAsync();
            StandardErrorOf(context).WriteLine("after");
        });

        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
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
        await ReadRequestAsync(frontEnd);

        Assert.Throws<ObjectDisposedException>(() => kept!.WriteLine("stale"));
        Assert.Throws<ObjectDisposedException>(() => feature!.StandardError);
        Assert.NotEmpty(feature!.Parameters);
        kept!.Flush();
        kept.Dispose();
        frontEnd.Send(RecordBytes.Get());

        Assert.Empty(Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
    }

    [Fact]
    public async Task ABORT_REQUEST_WhileLinesWait_TheyAreDroppedAndSoAreLaterOnes()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine("before");
            await go.Task;
            StandardErrorOf(context).WriteLine("after");
        });
        frontEnd.Send(RecordBytes.Get());

        frontEnd.Send(RecordBytes.Abort());
        go.SetResult();

        Assert.Equal([RecordBytes.EndRequest], (await ReadRequestAsync(frontEnd)).Select(static record => record.Type));
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal(["before\n", "after\n", ""], Texts(await ReadRequestAsync(frontEnd), RecordBytes.Stderr));
    }

    [Fact]
    public async Task STDERR_OfRequestsOfOneConnection_AreKeptApart()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            StandardErrorOf(context).WriteLine(context.Request.Path);
            await Apps.Hello(context);
        });

        frontEnd.Send(RecordBytes.Get(3, "/three"), RecordBytes.Get(5, "/five"));

        var records = new List<WireRecord>();
        while (records.Count(static record => record.Type == RecordBytes.EndRequest) < 2)
            records.Add(await frontEnd.ReadRecordAsync());
        foreach (var (id, path) in new[] { (3, "/three"), (5, "/five") })
            Assert.Equal([path + "\n", ""], Texts(records.Where(record => record.Id == id), RecordBytes.Stderr));
    }

    private static TextWriter StandardErrorOf(HttpContext context) => context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;

    private static List<string> Texts(IEnumerable<WireRecord> records, byte type)
        => [.. records.Where(record => record.Type == type).Select(static record => Encoding.UTF8.GetString(record.Content))];

    /// <summary>All records up to END_REQUEST.</summary>
    private static async Task<List<WireRecord>> ReadRequestAsync(FrontEnd frontEnd)
    {
        var records = new List<WireRecord>();
        do
            records.Add(await frontEnd.ReadRecordAsync());
        while (records[^1].Type != RecordBytes.EndRequest);
        return records;
    }
}
