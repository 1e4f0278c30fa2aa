namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary><c>Response.Body</c> as a stream: writes, and the other members that applications use.</summary>
public sealed class ResponseStreamTests
{
    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["each member"] = static async (context, seen) =>
        {
            var body = context.Response.Body;
            seen.Note("can", $"{body.CanRead} {body.CanWrite} {body.CanSeek}");
            seen.Try("length", () => _ = body.Length);
            seen.Try("position", () => _ = body.Position);
            seen.Try("set position", () => body.Position = 1);
            seen.Try("seek", () => body.Seek(0, SeekOrigin.Begin));
            seen.Try("set length", () => body.SetLength(1));
            seen.Try("read", () => _ = body.ReadByte());
            seen.Try("write", () => body.Write([1], 0, 1));
            seen.Try("write span", () => body.Write(new byte[1].AsSpan()));
            seen.Try("write byte", () => body.WriteByte(1));
            seen.Try("flush", body.Flush);
            seen.Note("started", context.Response.HasStarted);
            await Task.Factory.FromAsync(body.BeginWrite, body.EndWrite, "abc"u8.ToArray(), 1, 2, null);
            seen.Note("started", context.Response.HasStarted);
        },
        ["synchronous writes that are allowed"] = static (context, _) =>
        {
            context.Features.Get<IHttpBodyControlFeature>()!.AllowSynchronousIO = true;
            var body = context.Response.Body;
            body.Write("abc"u8.ToArray(), 1, 2);
            body.Write("def"u8);
            body.WriteByte((byte)'g');
            body.Flush();
            return Task.CompletedTask;
        },
        ["disposal before another write"] = static async (context, _) =>
        {
            var body = context.Response.Body;
            await using (var writer = new StreamWriter(body))
                await writer.WriteAsync("abc");
            await body.DisposeAsync();
            body.Dispose();
            body.Close();
            await context.Response.WriteAsync("def");
        },
        ["a writer that is disposed synchronously"] = static (context, seen) =>
        {
            seen.Try("dispose", () =>
            {
                using var writer = new StreamWriter(context.Response.Body);
                writer.Write("abc");
            });
            return Task.CompletedTask;
        },
    };

    public static TheoryData<string> Uses => [.. s_uses.Keys];

    [Theory, MemberData(nameof(Uses))]
    [Contract("D11", "T32", "T33")]
    public Task Stream_AnyUse_AsKestrel(string use) => Parity.AssertAsync(s_uses[use]);

    [Fact]
    public async Task Stream_SynchronousCalls_ErrorNamesTheSetting()
    {
        var messages = new List<string>();
        await Parity.RunAsync((context, _) =>
        {
            messages.Add(Assert.Throws<InvalidOperationException>(() => context.Request.Body.ReadByte()).Message);
            messages.Add(Assert.Throws<InvalidOperationException>(() => context.Response.Body.WriteByte(1)).Message);
        });

        Assert.Equal(2, messages.Count(static message => message.EndsWith(
            Observations.WhereSynchronousIOIsAllowed, StringComparison.Ordinal)));
    }

    /// <summary>
    /// nginx is told not to buffer. Blazor and event streams set the encoding identity, which Apache must not get:
    /// mod_deflate compresses the response and sends both codings.
    /// </summary>
    [Theory]
    [Contract("1", "B3")]
    [InlineData("nginx/1.22.1", "X-Accel-Buffering", null, null)]
    [InlineData("nginx/1.22.1", "X-Accel-Buffering", "disable buffering", "no")]
    [InlineData("nginx/1.22.1", "X-Accel-Buffering", "Text/Event-Stream; charset=utf-8", "no")]
    [InlineData("nginx/1.22.1", "X-Accel-Buffering", "text/plain; text/event-stream", null)]
    [InlineData("Apache/2.4.57 (Debian)", "Content-Encoding", "identity", null)]
    [InlineData("Apache", "Content-Encoding", " IDENTITY ,identity", null)]
    [InlineData("Apache", "Content-Encoding", "identity, gzip", "identity, gzip")]
    [InlineData("Apache", "Content-Encoding", "gzip", "gzip")]
    [InlineData("Apache", "Content-Encoding", ",identity", null)]
    [InlineData("nginx/1.22.1", "Content-Encoding", "identity", "identity")]
    public async Task Header_ForTheWebServer_SuitsIt(
        string software, string header, string? set, string? sent)
    {
        var response = await TestServer.AskAsync(
            context =>
            {
                if (header == "Content-Encoding")
                    context.Response.Headers.ContentEncoding = set;
                else if (set?.Contains('/') == true)
                    context.Response.ContentType = set;
                else if (set is not null)
                    context.Features.Get<IHttpResponseBodyFeature>()!.DisableBuffering();
                return Apps.Hello(context);
            },
            RecordBytes.Get(more: [("SERVER_SOFTWARE", software)]));

        Assert.Equal(sent, response[header]);
    }
}
