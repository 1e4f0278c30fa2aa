namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Encodings that the application chose for headers, and that fail.</summary>
public class HeaderEncodingTests
{
    private static readonly Encoding s_strict = Encoding.GetEncoding(
        "us-ascii", EncoderFallback.ExceptionFallback, DecoderFallback.ExceptionFallback);

    [Theory, Values(true, false)]
    public async Task Flush_OfARefusedHeader_ThrowsToTheApplication(bool isAwaited)
    {
        var seen = Waiting.Signal<Exception>();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                context.Response.Headers["X-Strict"] = "é";
                if (isAwaited)
                    await Task.Yield();
                seen.TrySetResult(await Assert.ThrowsAnyAsync<Exception>(() => context.Response.WriteAsync("hello")));
                await Task.Yield();
            },
            static options => options.ResponseHeaderEncodingSelector = static _ => s_strict,
            expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get());

        Assert.IsType<EncoderFallbackException>(await seen.Task.Within("the exception"));
        Assert.Equal(500, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData("/", 500)]
    [InlineData("no-path", 400)]
    public async Task Selector_ThrowsForEachResponse_IsNotUsedForTheServersOwn(string uri, int status)
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            static _ => throw new InvalidOperationException("on purpose"),
            static options => options.ResponseHeaderEncodingSelector =
                static _ => throw new InvalidOperationException("on purpose"));
        frontEnd.Server.Logs.Expected.Add("ApplicationError");

        Assert.Equal(status, (await frontEnd.AskAsync(RecordBytes.Get(1, uri))).Status);
    }

    [Fact]
    public async Task Selector_Request_IsCalledOncePerHeaderAndWithoutALock()
    {
        var asked = 0;
        var response = await TestServer.AskAsync(
            static context => context.Response.WriteAsync(
                $"{context.Request.Headers["X-Odd"]} {context.Request.Headers["X-Odd"]} "
                + $"{context.Request.Headers.Count > 0} {context.Request.Headers["X-Odd"]}"),
            options => options.RequestHeaderEncodingSelector = name =>
            {
                Invariants.RequireNoLock(name);
                asked++;
                return Encoding.Latin1;
            }, RecordBytes.Get(more: ("HTTP_X_ODD", "é")));

        Assert.Equal("Ã© Ã© True Ã©", response.Text);
        Assert.Equal(1, asked);
    }
}
