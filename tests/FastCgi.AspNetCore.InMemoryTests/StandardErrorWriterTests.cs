namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The writer of the web server's error log is a <see cref="TextWriter"/> like any other.</summary>
public sealed class StandardErrorWriterTests
{
    [Fact]
    public async Task Write_AnyOverload_AsATextWriter()
    {
        Assert.Equal(["abcdefgh\n", "i\n", "j\n", "k\n"], await WriteAsync(static async error =>
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
        }));
    }

    /// <summary>A line is sent when it ends or is flushed, and does not wait for the request.</summary>
    [Theory, Values("end", "flush", "dispose", "close")]
    public async Task Line_NotEnded_IsSentAtOnceWhen(string how)
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            // Until the header block is sent, lines wait for it.
            await context.Response.Body.FlushAsync();
            var error = ErrorOf(context);
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

            await go.Task;
            error.WriteLine(" and half");
        });
        frontEnd.Send(RecordBytes.Get());

        WireRecord record;
        while ((record = await frontEnd.ReadRecordAsync()).Type != RecordBytes.Stderr)
            Assert.Equal(RecordBytes.Stdout, record.Type);
        Assert.Equal("half\n", Encoding.UTF8.GetString(record.Content));
        go.SetResult();
        Assert.Equal([" and half\n", ""], await ReadLinesAsync(frontEnd));
    }

    /// <summary>
    /// First halves of surrogate pairs, of which none has a second one, are cut like other text: a record has 65,535
    /// bytes at the most.
    /// </summary>
    [Theory, Values(2_001, 20_000)]
    public async Task Line_OfOnlyFirstHalves_IsCutLikeAnyOther(int length)
    {
        var lines = await WriteAsync(async error => await error.WriteLineAsync(new string('\uD800', length)));

        Assert.Equal(new string('\uFFFD', length), string.Concat(lines).ReplaceLineEndings(""));
        Assert.All(lines, static line => Assert.InRange(line.Length, 1, 2_002));
    }

    [Fact]
    public async Task Line_PairAtItsEnd_StaysWhole()
    {
        var text = new string('a', 1_999) + "\U0001F600" + "b";

        Assert.Equal([text[..2_001] + "\n", "b\n"], await WriteAsync(async error => await error.WriteLineAsync(text)));
    }

    private static async Task<List<string>> WriteAsync(Func<TextWriter, Task> write)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context => write(ErrorOf(context)));
        frontEnd.Send(RecordBytes.Get());
        var lines = await ReadLinesAsync(frontEnd);
        Assert.Equal("", lines[^1]);
        return lines[..^1];
    }

    private static async Task<List<string>> ReadLinesAsync(FrontEnd frontEnd)
        => [.. (await frontEnd.ReadRequestAsync())
            .Where(static record => record.Type == RecordBytes.Stderr).Select(
                static record => Encoding.UTF8.GetString(record.Content))];

    private static TextWriter ErrorOf(HttpContext context)
        => context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;
}
