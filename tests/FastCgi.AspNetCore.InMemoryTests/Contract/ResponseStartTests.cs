namespace FastCgi.AspNetCore.InMemoryTests.Contract;

/// <summary>When a response starts, what OnStarting may change, and what can be changed before and after.</summary>
public class ResponseStartTests
{
    // All except the last start the response.
    private static readonly Dictionary<string, Func<HttpResponse, Task>> s_starts = new()
    {
        ["start"] = static response => response.StartAsync(),
        ["flush stream"] = static response => response.Body.FlushAsync(),
        ["flush writer"] = static response => response.BodyWriter.FlushAsync().AsTask(),
        ["write"] = static response => response.WriteAsync("x"),
        ["write nothing"] = static response => response.Body.WriteAsync(Array.Empty<byte>()).AsTask(),
        ["complete"] = static response => response.CompleteAsync(),
        ["complete writer"] = static response => response.BodyWriter.CompleteAsync().AsTask(),
        ["advance"] = static response =>
        {
            response.BodyWriter.Write("a"u8);
            return Task.CompletedTask;
        },
    };

    private static readonly Dictionary<string, ObservedApplication> s_uses = new()
    {
        ["change after the start"] = static async (context, seen) =>
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
            seen.Try("invalid length", () => response.ContentLength = -1);
            seen.Try("invalid value", () => response.Headers["X-Late"] = "1\n");
            seen.Try("no name", () => response.Headers[""] = "1");
            seen.Try("add invalid", () => ((IDictionary<string, StringValues>)response.Headers).Add("X Late", "1"));
            seen.Try("type", () => response.ContentType = "text/plain");
            seen.Try("cookie", () => response.Cookies.Append("a", "b"));
            seen.Try("completed", () => response.OnCompleted(static () => Task.CompletedTask));
            await seen.TryAsync("start", () => response.StartAsync());
            seen.Note("read-only", response.Headers.IsReadOnly);
        },
        ["headers put back after the start"] = static async (context, seen) =>
        {
            var feature = context.Features.GetRequiredFeature<IHttpResponseFeature>();
            var own = feature.Headers;
            own["X-Before"] = "1";
            await context.Response.StartAsync();
            seen.Try("own", () => feature.Headers = own);
            seen.Try("other", () => feature.Headers = new HeaderDictionary());
            await context.Response.WriteAsync("a");
        },
        ["several OnStarting callbacks"] = static async (context, seen) =>
        {
            var response = context.Response;
            response.OnStarting(() =>
            {
                seen.Note("first, started", response.HasStarted);
                response.StatusCode = 202;
                response.ContentLength = 3;
                return Task.CompletedTask;
            });
            response.OnStarting(async () =>
            {
                await Task.Yield();
                seen.Note("second", "called");
                response.OnStarting(Apps.Do(() =>
                {
                    seen.Note("third", "called");
                    response.Headers["X-Third"] = "1";
                }));
            });
            await response.WriteAsync("abc");
        },
        ["OnStarting that throws among others"] = static async (context, seen) =>
        {
            var response = context.Response;
            response.OnStarting(Apps.Do(() => seen.Note("first", "called")));
            response.OnStarting(static () => throw new InvalidOperationException("on purpose"));
            response.OnStarting(static () => throw new InvalidOperationException("on purpose, too"));
            response.OnStarting(Apps.Do(() => seen.Note("last", "called")));
            foreach (var use in (string[])["write", "flush stream", "write nothing", "start"])
            {
                await seen.TryAsync(use, () => s_starts[use](response));
                seen.Note("started", response.HasStarted);
            }
        },
        ["OnStarting that sets a length too small for the first write"] = static (context, seen) =>
        {
            context.Response.OnStarting(Apps.Do(() => context.Response.ContentLength = 2));
            return seen.TryAsync("write", () => context.Response.Body.WriteAsync("abc"u8.ToArray()).AsTask());
        },
        ["OnStarting of an application that threw"] = static (context, seen) =>
        {
            context.Response.OnStarting(Apps.Do(() => seen.Note("starting", "called")));
            throw new InvalidOperationException("on purpose");
        },
        ["an exception after the start of an empty body"] = static async (context, _) =>
        {
            context.Response.ContentLength = 0;
            await context.Response.StartAsync();
            throw new InvalidOperationException("on purpose");
        },
        ["an exception after a whole body that is not flushed"] = static async (context, _) =>
        {
            context.Response.ContentLength = 3;
            await context.Response.StartAsync();
            "abc"u8.CopyTo(context.Response.BodyWriter.GetSpan(3));
            context.Response.BodyWriter.Advance(3);
            throw new InvalidOperationException("on purpose");
        },
    };

    public static TheoryData<string> Starts => [.. s_starts.Keys];

    public static TheoryData<string> Uses => [.. s_uses.Keys];

    [Theory, MemberData(nameof(Uses))]
    [Contract("B4", "B5", "B7")]
    public Task Response_AnyUse_AsKestrel(string use) => Parity.AssertAsync(s_uses[use]);

    [Theory, MemberData(nameof(Starts))]
    [Contract("B1", "B2")]
    public async Task HasStarted_FirstUse_AsKestrel(string start)
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            seen.Note("before", context.Response.HasStarted);
            await s_starts[start](context.Response);
            seen.Note("after", context.Response.HasStarted);
        });

        Assert.Equal($"after: {start != "advance"}", answer.Observed[1]);
    }

    [Theory, Values("write", "flush stream", "flush writer", "start")]
    [Contract("B6")]
    public async Task OnStarting_Throws_UseThrowsAndRequestEndsIn500(string start)
    {
        var answer = await Parity.AssertAsync(async (context, seen) =>
        {
            var response = context.Response;
            response.OnStarting(Apps.Do(() => seen.Note("outer", "called")));
            response.OnStarting(static () => throw new InvalidOperationException("on purpose"));
            seen.Note("error", (await Record.ExceptionAsync(() => s_starts[start](response)))?.InnerException?.Message);
            seen.Note("started", response.HasStarted);
        });

        Assert.Equal(500, answer.Outcome.Status);
        Assert.Equal(["error: on purpose", "started: False"], answer.Observed);
    }

    [Fact]
    [Contract("B6")]
    public async Task OnStarting_ThrowsAndTheApplicationContinues_EachUseThrows()
    {
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            context.Response.OnStarting(static () => throw new InvalidOperationException("on purpose"));
            foreach (var start in new[] { "write", "write", "flush stream", "start" })
                await Assert.ThrowsAsync<ObjectDisposedException>(() => s_starts[start](context.Response));
        }, expects: "ApplicationError");

        Assert.Equal(500, (await frontEnd.AskAsync()).Status);
        Assert.NotEmpty(frontEnd.Server.Logs.Named("ApplicationError"));
    }

    [Fact]
    [Contract("B3")]
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

    [Theory, Values("flush writer", "write nothing")]
    [Contract("B3")]
    public async Task Flush_NothingWritten_HeaderBlockSent(string start)
    {
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await s_starts[start](context.Response);
            await go.Task;
        });

        frontEnd.Send(RecordBytes.Get());
        var head = await frontEnd.ReadRecordAsync();
        go.SetResult();

        Assert.Equal("Status: 200 OK\r\n\r\n", Encoding.ASCII.GetString(head.Content));
        Assert.Empty((await frontEnd.ReadRecordAsync()).Content);
    }
}
