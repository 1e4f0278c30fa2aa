using System.Text;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

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

    /// <summary>A line is complete with its end, or when the application says so; it does not wait for the request.</summary>
    [Theory]
    [InlineData("flush")]
    [InlineData("dispose")]
    [InlineData("close")]
    public async Task Line_NotEnded_IsSentAtOnceWhen(string how)
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            // Until the header block is sent, lines wait for it.
            await context.Response.Body.FlushAsync();
            var error = ErrorOf(context);
            error.Write("half");
            switch (how)
            {
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
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());

        WireRecord record;
        while ((record = await frontEnd.ReadRecordAsync()).Type != RecordBytes.Stderr)
            Assert.Equal(RecordBytes.Stdout, record.Type);
        Assert.Equal("half\n", Encoding.UTF8.GetString(record.Content));
        go.SetResult();
        Assert.Equal([" and half\n", ""], await ReadLinesAsync(frontEnd));
    }

    [Fact]
    public async Task Flush_AfterTheRequest_DoesNothing()
    {
        TextWriter? kept = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            kept ??= ErrorOf(context);
            kept.Write("half");
            return Task.CompletedTask;
        });
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal(["half\n", ""], await ReadLinesAsync(frontEnd));

        kept!.Flush();
        kept.Dispose();

        Assert.Throws<ObjectDisposedException>(() => kept.Write('x'));
        Assert.Empty(frontEnd.ReadAvailable());
    }

    private static async Task<List<string>> WriteAsync(Func<TextWriter, Task> write)
    {
        await using var server = await TestServer.StartAsync(context => write(ErrorOf(context)));
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        var lines = await ReadLinesAsync(frontEnd);
        Assert.Equal("", lines[^1]);
        return lines[..^1];
    }

    private static async Task<List<string>> ReadLinesAsync(FrontEnd frontEnd)
    {
        var lines = new List<string>();
        while (await frontEnd.ReadRecordAsync() is { Type: not RecordBytes.EndRequest } record)
        {
            if (record.Type == RecordBytes.Stderr)
                lines.Add(Encoding.UTF8.GetString(record.Content));
        }

        return lines;
    }

    private static TextWriter ErrorOf(HttpContext context) => context.Features.GetRequiredFeature<IFastCgiRequestFeature>().StandardError;
}
