using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Encodings that the application chose for headers, and that fail.</summary>
public class HeaderEncodingTests
{
    private static readonly Encoding s_strict = Encoding.GetEncoding("us-ascii", EncoderFallback.ExceptionFallback, DecoderFallback.ExceptionFallback);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_OfARefusedHeader_ThrowsToTheApplication(bool isAwaited)
    {
        var seen = Waiting.Signal<Exception>();
        await using var server = await StartAsync(async context =>
        {
            if (isAwaited)
                await Task.Yield();
            seen.TrySetResult(await Assert.ThrowsAnyAsync<Exception>(() => context.Response.WriteAsync("hello")));
            await Task.Yield();
        });
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get());

        Assert.IsType<EncoderFallbackException>(await seen.Task.Within("the exception"));
        Assert.Equal(500, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData("/", 500)]
    [InlineData("no-path", 400)]
    public async Task Selector_ThatThrowsForEachResponse_IsNotAskedForTheServersOwn(string uri, int status)
    {
        await using var server = await TestServer.StartAsync(
            static _ => throw new InvalidOperationException("on purpose"),
            static options => options.ResponseHeaderEncodingSelector = static _ => throw new InvalidOperationException("on purpose"));
        server.Logs.Expected.Add("ApplicationError");
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(1, uri));

        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task Selector_ThatThrowsForARequest_500AndTheNextIsServed()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Target, static options => options.RequestHeaderEncodingSelector = static _ => throw new InvalidOperationException("on purpose"));
        server.Logs.Expected.Add("ApplicationError");
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(more: ("HTTP_X_ODD", "é")));
        Assert.Equal(500, (await frontEnd.ReadResponseAsync()).Status);

        frontEnd.Send(RecordBytes.Get(1, "/next"));
        Assert.Equal("GET /next", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Contains(server.Logs.All, static log => log.EventName == "ApplicationError" && log.Exception is InvalidOperationException);
    }

    [Fact]
    public async Task Selector_IsAskedWithoutALock_AndNotAgainForEachLook()
    {
        var asked = 0;
        await using var server = await TestServer.StartAsync(
            static context => context.Response.WriteAsync($"{context.Request.Headers["X-Odd"]} {context.Request.Headers["X-Odd"]} {context.Request.Headers.Count > 0} {context.Request.Headers["X-Odd"]}"),
            options => options.RequestHeaderEncodingSelector = name =>
            {
                LockOrder.RequireNone(name);
                asked++;
                return Encoding.Latin1;
            });
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(more: ("HTTP_X_ODD", "é")));

        Assert.Equal("Ã© Ã© True Ã©", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Equal(1, asked);
    }

    private static async Task<TestServer> StartAsync(RequestDelegate application)
    {
        var server = await TestServer.StartAsync(
            context =>
            {
                context.Response.Headers["X-Strict"] = "é";
                return application(context);
            },
            static options => options.ResponseHeaderEncodingSelector = static _ => s_strict);
        server.Logs.Expected.Add("ApplicationError");
        return server;
    }
}
