using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>When a response starts, and what can change before and after, compared with Kestrel.</summary>
public class ResponseStartTests
{
    [Theory]
    [Trait("Contract", "B1")]
    [Trait("Contract", "B2")]
    [Values(
        "start", "flush stream", "flush writer", "write", "write nothing", "complete", "complete writer", "advance")]
    public async Task HasStarted_FirstUse_AsKestrel(string use)
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            var response = context.Response;
            seen.Note("before", response.HasStarted);
            await ResponseStart.UseAsync(response, use);
            seen.Note("after", response.HasStarted);
        });

        Assert.Equal($"after: {use != "advance"}", answer.Observed[1]);
    }

    [Fact]
    [Trait("Contract", "B3")]
    public async Task StartAsync_NothingWritten_NothingSent()
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await context.Response.StartAsync();
            await go.Task;
            await context.Response.Body.WriteAsync(Array.Empty<byte>());
            await go.Task;
        });

        frontEnd.Send(RecordBytes.Get());
        Assert.Empty(frontEnd.ReadAvailable());
        go.SetResult();

        Assert.Empty((await frontEnd.ReadResponseAsync()).Body);
    }

    [Theory]
    [Trait("Contract", "B3")]
    [Values("flush writer", "write nothing")]
    public async Task Flush_NothingWritten_HeaderBlockSent(string use)
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await ResponseStart.UseAsync(context.Response, use);
            await go.Task;
        });

        frontEnd.Send(RecordBytes.Get());
        var head = await frontEnd.ReadRecordAsync();
        go.SetResult();

        Assert.Equal("Status: 200 OK\r\n\r\n", System.Text.Encoding.ASCII.GetString(head.Content));
        Assert.Empty((await frontEnd.ReadRecordAsync()).Content);
    }

    [Fact]
    [Trait("Contract", "B4")]
    public Task Response_ChangedAfterTheStart_ThrowsAsKestrel() => Parity.AssertAsync(async (context, seen) =>
    {
        var response = context.Response;
        response.Headers["X-Before"] = "1";
        response.ContentLength = 0;
        await response.StartAsync();
        seen.Try("status", () => response.StatusCode = 201);
        seen.Try("reason", () => context.Features.Get<IHttpResponseFeature>()!.ReasonPhrase = "Fine");
        seen.Try("starting", () => response.OnStarting(static () => Task.CompletedTask));
        seen.Try("set", () => response.Headers["X-Late"] = "1");
        seen.Try("change", () => response.Headers["X-Before"] = "2");
        seen.Try("add", () => ((IDictionary<string, StringValues>)response.Headers).Add("X-Late", "1"));
        seen.Try("append", () => response.Headers.Append("X-Before", "2"));
        seen.Try("remove", () => response.Headers.Remove("X-Before"));
        seen.Try("clear", response.Headers.Clear);
        seen.Try("length", () => response.ContentLength = 1);
        seen.Try("type", () => response.ContentType = "text/plain");
        seen.Try("cookie", () => response.Cookies.Append("a", "b"));
        seen.Try("completed", () => response.OnCompleted(static () => Task.CompletedTask));
        await seen.TryAsync("start", () => response.StartAsync());
        seen.Note("read-only", response.Headers.IsReadOnly);
    });

    [Fact]
    [Trait("Contract", "B11")]
    public async Task Status_NothingSet_200AndNoReason() => await Parity.AssertAsync((context, seen) =>
    {
        var feature = context.Features.Get<IHttpResponseFeature>()!;
        seen.Note("defaults", $"{feature.StatusCode} {feature.ReasonPhrase is null} {feature.Headers.Count}");
    });
}
