namespace FastCgi.AspNetCore.InMemoryTests;

public class StdoutTests
{
    [Theory, Values(1, 3_500, 3_584, 4_096, 65_000, 65_528, 65_535, 65_536, 1_000_000)]
    public async Task STDOUT_BodyOfAnySize_ComesWhole(int length)
    {
        var body = Apps.Pattern(length);
        var response = await TestServer.AskAsync(context => context.Response.Body.WriteAsync(body).AsTask());

        Assert.Equal(body, response.Body);
    }

    [Fact]
    [Contract("T26", "T27")]
    public async Task STDOUT_EmptyWritesAndFlushes_NeverAnEmptyRecordBeforeTheEnd()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.Body.WriteAsync(ReadOnlyMemory<byte>.Empty);
            await context.Response.Body.FlushAsync();
            await go.Task;
            await context.Response.Body.FlushAsync();
            await context.Response.Body.WriteAsync(ReadOnlyMemory<byte>.Empty);
            context.Response.BodyWriter.GetMemory(10);
            context.Response.BodyWriter.Advance(0);
            await context.Response.BodyWriter.FlushAsync();
            await context.Response.WriteAsync("end");
        });

        frontEnd.Send(RecordBytes.Get());
        var head = await frontEnd.ReadRecordAsync();
        Assert.EndsWith("Status: 200 OK\r\n\r\n", System.Text.Encoding.ASCII.GetString(head.Content));
        go.SetResult();
        var body = await frontEnd.ReadRecordAsync();
        Assert.Equal(Apps.Utf8("end"), body.Content);
        Assert.Empty((await frontEnd.ReadRecordAsync()).Content);
    }

    [Theory]
    [Contract("T16")]
    [Values(3_000, 8_000, 60_000, 70_000, 200_000)]
    public async Task STDOUT_LargeHeaderBlock_InOneRecordWhereItFits(int length)
    {
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            context.Response.Headers["X-Large"] = new string('x', length);
            return Apps.Hello(context);
        });

        var response = await frontEnd.AskAsync();
        Assert.Equal(length, response["X-Large"]!.Length);
        Assert.Equal("Hello", response.Text);
        var sent = frontEnd.Transport.Sent;
        var firstRecord = sent.AsSpan(8, BinaryPrimitives.ReadUInt16BigEndian(sent.AsSpan(4)));
        Assert.Equal(length < 65_000, firstRecord.IndexOf("\r\n\r\n"u8) >= 0);
    }

    [Fact]
    [Contract("D9")]
    public async Task STDOUT_ConcurrentWriters_NoRecordIsTorn()
    {
        var response = await TestServer.AskAsync(static async context =>
        {
            await context.Response.StartAsync();
            var body = context.Response.Body;
            await Task.WhenAll(Enumerable.Range(0, 8).Select(i => Task.Run(async () =>
            {
                var line = System.Text.Encoding.ASCII.GetBytes($"{i}{new string((char)('a' + i), 98)}\n");
                for (var n = 0; n < 200; n++)
                    await body.WriteAsync(line);
            })));
        });

        var lines = response.Text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(1_600, lines.Length);
        Assert.All(lines, static line => Assert.Equal($"{line[0]}{new string((char)('a' + line[0] - '0'), 98)}", line));
    }
}
