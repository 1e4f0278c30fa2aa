namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary><c>Response.Body</c> as a stream: writes, and the other members that applications use.</summary>
public class ResponseStreamTests
{
    [Fact]
    [Trait("Contract", "D11")]
    public async Task Stream_WhatItCanDo_AsKestrel() => await Parity.AssertAsync(static async (context, seen) =>
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
    });

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

    [Fact]
    [Trait("Contract", "D11")]
    [Trait("Contract", "T32")]
    public async Task Stream_SynchronousWritesAllowed_Written()
    {
        var answer = await Parity.AssertAsync(static (context, _) =>
        {
            context.Features.Get<IHttpBodyControlFeature>()!.AllowSynchronousIO = true;
            var body = context.Response.Body;
            body.Write("abc"u8.ToArray(), 1, 2);
            body.Write("def"u8);
            body.WriteByte((byte)'g');
            body.Flush();
        });

        Assert.Equal("bcdefg", answer.Outcome.Text);
    }

    [Fact]
    [Trait("Contract", "D11")]
    public async Task Stream_Disposed_ResponseContinues()
    {
        var answer = await Parity.AssertAsync(static async (context, _) =>
        {
            var body = context.Response.Body;
            await using (var writer = new StreamWriter(body))
                await writer.WriteAsync("abc");
            await body.DisposeAsync();
            body.Dispose();
            body.Close();
            await context.Response.WriteAsync("def");
        });

        Assert.Equal("abcdef", answer.Outcome.Text);
    }

    [Fact]
    [Trait("Contract", "T33")]
    public async Task StreamWriter_DisposedSynchronously_ThrowsAsKestrel()
        => await Parity.AssertAsync(static (context, seen) =>
        {
            seen.Try("dispose", () =>
            {
                using var writer = new StreamWriter(context.Response.Body);
                writer.Write("abc");
            });
        });

    [Fact]
    [Trait("Contract", "D8")]
    [Trait("Contract", "T28")]
    public async Task Body_UsedAfterTheApplicationReturned_DisposedAsKestrel()
    {
        var done = Waiting.Signal();
        await Parity.AssertAsync((context, seen) =>
        {
            var response = context.Features.Get<IHttpResponseBodyFeature>()!;
            var (stream, writer) = (response.Stream, response.Writer);
            var reader = context.Request.BodyReader;
            var body = context.Request.Body;
            context.Response.OnCompleted(async () =>
            {
                await seen.TryAsync("write stream", () => stream.WriteAsync(new byte[1]).AsTask());
                await seen.TryAsync("flush stream", () => stream.FlushAsync());
                await seen.TryAsync("write writer", () => writer.WriteAsync(new byte[1]).AsTask());
                await seen.TryAsync("flush writer", () => writer.FlushAsync().AsTask());
                seen.Try("memory", () => writer.GetMemory());
                seen.Try("advance", () => writer.Advance(0));
                seen.Try("cancel flush", writer.CancelPendingFlush);
                await seen.TryAsync("read stream", () => body.ReadExactlyAsync(new byte[1]).AsTask());
                await seen.TryAsync("read reader", () => reader.ReadAsync().AsTask());
                seen.Try("try read", () => reader.TryRead(out _));
                seen.Try("cancel read", reader.CancelPendingRead);
                done.TrySetResult();
            });
        });
    }

    [Theory]
    [Trait("Contract", "1")]
    [Trait("Contract", "B3")]
    [InlineData(true, "no")]
    [InlineData(false, null)]
    public async Task DisableBuffering_BeforeTheStart_TellsNginx(bool disables, string? value)
    {
        var response = await TestServer.AskAsync(context =>
        {
            if (disables)
                context.Features.Get<IHttpResponseBodyFeature>()!.DisableBuffering();
            return Apps.Hello(context);
        });

        Assert.Equal(value, response["X-Accel-Buffering"]);
    }

    /// <summary>Blazor and event streams set it. mod_deflate compresses the response and sends both codings.</summary>
    [Theory]
    [InlineData("Apache/2.4.57 (Debian)", "text/event-stream", "identity", null)]
    [InlineData("Apache", "text/html", " IDENTITY ,identity", null)]
    [InlineData("Apache", "text/html", "identity, gzip", "identity, gzip")]
    [InlineData("Apache", "text/html", "gzip", "gzip")]
    [InlineData("Apache", "text/html", ",identity", null)]
    [InlineData("nginx/1.22.1", "text/event-stream", "identity", "identity")]
    public async Task ContentEncoding_Identity_IsNotSentToApache(
        string software, string type, string coding, string? sent)
    {
        await using var server = await TestServer.StartAsync(context =>
        {
            context.Response.ContentType = type;
            context.Response.Headers.ContentEncoding = coding;
            return Apps.Hello(context);
        });
        var response = await server.Connect().AskAsync(RecordBytes.Get(more: [("SERVER_SOFTWARE", software)]));

        Assert.Equal(sent, response["Content-Encoding"]);
    }
}
