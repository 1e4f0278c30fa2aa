using System.Text;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A header whose value is refused by the encoding that the application chose for it.</summary>
public class RefusedHeaderTests
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
        Assert.True((await frontEnd.ReadOutcomeAsync()).IsCut);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task End_OfARefusedHeader_IsCut(bool hasReset)
    {
        await using var server = await StartAsync(static context => context.Response.BodyWriter.WriteAsync("hello"u8.ToArray()).AsTask().ContinueWith(static _ => { }));
        var frontEnd = server.Connect();
        frontEnd.Transport.HasReset = hasReset;

        frontEnd.Send(RecordBytes.Get());

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsReset || frontEnd.Transport.IsClosed, "the end of the connection");
        Assert.DoesNotContain("hello", Encoding.Latin1.GetString(frontEnd.Transport.Sent), StringComparison.Ordinal);
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
