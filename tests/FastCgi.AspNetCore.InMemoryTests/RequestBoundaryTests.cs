using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request ends exactly once, whatever the application, its middleware or its log providers do: nobody else's request gets its
/// bytes, the web server is never left without an answer, and the server goes on.
/// </summary>
public sealed class RequestBoundaryTests
{
    private const int Enough = 30;

    [Theory, Values(0, 99, 200, 204, 1_000)]
    public async Task BadRequest_WithAStatusThatIsNoError_500(int statusCode)
    {
        await using var server = await TestServer.StartAsync(ForBad(context => throw new BadHttpRequestException("on purpose", statusCode)));
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
    }

    [Theory, Values("", "a b", "a\r\nb")]
    public async Task Headers_ReplacedByADictionaryWithABadName_500(string name)
    {
        await using var server = await TestServer.StartAsync(ForBad(context =>
        {
            context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new OddHeaders(name, "x");
            return Task.CompletedTask;
        }));
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
    }

    [Fact]
    public async Task Headers_ReplacedByADictionaryThatThrows_500()
    {
        await using var server = await TestServer.StartAsync(ForBad(context =>
        {
            context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new OddHeaders(null, "x");
            return context.Response.WriteAsync("hello");
        }));
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
    }

    [Fact]
    public async Task Middleware_ThatReturnsNoTask_500()
    {
        await using var server = await TestServer.StartAsync(ForBad(static _ => null!));
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
    }

    [Fact]
    public async Task CompleteAsync_WhoseHeadCannotBeWritten_ThrowsAndTheRequestEnds()
    {
        Exception? seen = null;
        await using var server = await TestServer.StartAsync(ForBad(async context =>
        {
            context.Response.StatusCode = 101;
            seen = await Record.ExceptionAsync(context.Response.CompleteAsync);
        }));
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
        Assert.IsType<InvalidOperationException>(seen);
        Assert.Equal(0, server.Connections.CountRequests());
    }

    /// <summary>What refuses the header block throws in CompleteAsync, and not when the end is already promised.</summary>
    [Fact]
    public async Task CompleteAsync_WhoseHeadIsRefusedByAnEncoding_ThrowsAndTheRequestEnds()
    {
        var strict = Encoding.GetEncoding("us-ascii", EncoderFallback.ExceptionFallback, DecoderFallback.ExceptionFallback);
        Exception? seen = null;
        await using var server = await TestServer.StartAsync(
            ForBad(async context =>
            {
                context.Response.Headers["X-Strict"] = "é";
                seen = await Record.ExceptionAsync(context.Response.CompleteAsync);
            }),
            options => options.ResponseHeaderEncodingSelector = name => name == "X-Strict" ? strict : null);
        server.Logs.Expected.Add("ApplicationError");

        await AssertBadIsAnsweredAsync(server, 500);
        Assert.IsType<EncoderFallbackException>(seen);
    }

    [Fact]
    public async Task Encodings_Headers_AndLogs_AreAskedWithoutALock()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            app => RunExtensions.Run(app, context =>
            {
                context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new OddHeaders("X-Odd", "é");
                context.Response.OnStarting(Apps.Do(static () => LockOrder.RequireNone("OnStarting")));
                return context.Response.WriteAsync("hello");
            }),
            options => options.ResponseHeaderEncodingSelector = static _ =>
            {
                LockOrder.RequireNone("The choice of an encoding");
                return Encoding.UTF8;
            });

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal("Ã©", (await frontEnd.ReadResponseAsync())["X-Odd"]);
        Assert.Null(Invariants.FirstViolation);
    }

    [Fact]
    public async Task GET_Plain_TakesEachLockAtMostThreeTimes()
    {
        // Without hosting's log, which asks for headers.
        await using var frontEnd = await TestServer.ConnectAsync(
            static app => app.Run(static context => context.Response.Body.WriteAsync("Hello"u8.ToArray()).AsTask()),
            services: static services => services.Configure<LoggerFilterOptions>(static options => options.MinLevel = LogLevel.Warning));
        frontEnd.Send(RecordBytes.Get());
        await frontEnd.ReadResponseAsync();
        var before = LockOrder.Counts;

        frontEnd.Send(RecordBytes.Get());

        var after = LockOrder.Counts;
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        Assert.InRange(after.Request - before.Request, 1, 3);
        Assert.InRange(after.Connection - before.Connection, 1, 3);
    }

    private static RequestDelegate ForBad(RequestDelegate bad) => context => context.Request.Path == "/bad" ? bad(context) : Apps.Target(context);

    private static async Task AssertBadIsAnsweredAsync(TestServer server, int statusCode)
    {
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get(uri: "/bad"));
        Assert.Equal(statusCode, (await frontEnd.ReadResponseAsync()).Status);

        // The connection lives on, and what comes late for the request that is over reaches nobody.
        frontEnd.Send(RecordBytes.StdinStream(1, "late"u8));
        frontEnd.Send(RecordBytes.Get(uri: "/next"));
        Assert.Equal("GET /next", (await frontEnd.ReadResponseAsync()).Text);
        await AssertOthersAreServedAsync(server);
    }

    private static async Task AssertOthersAreServedAsync(TestServer server)
    {
        var frontEnd = server.Connect();
        for (var i = 0; i < Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get(uri: $"/{i}"));
            Assert.Equal($"GET /{i}", (await frontEnd.ReadResponseAsync()).Text);
        }
    }

    /// <summary>A dictionary that does not check its names, and asks that no lock is held; without a name, one that throws.</summary>
    private sealed class OddHeaders(string? name, string value) : HeaderDictionary, IHeaderDictionary, IEnumerable<KeyValuePair<string, StringValues>>
    {
        long? IHeaderDictionary.ContentLength
        {
            get
            {
                LockOrder.RequireNone("A header dictionary of the application");
                return name is null ? throw new NotSupportedException("on purpose") : null;
            }

            set => LockOrder.RequireNone("A header dictionary of the application");
        }

        int ICollection<KeyValuePair<string, StringValues>>.Count => 1;

        void ICollection<KeyValuePair<string, StringValues>>.CopyTo(KeyValuePair<string, StringValues>[] array, int arrayIndex)
        {
            LockOrder.RequireNone("A header dictionary of the application");
            array[arrayIndex] = new(name ?? throw new NotSupportedException("on purpose"), value);
        }

        IEnumerator<KeyValuePair<string, StringValues>> IEnumerable<KeyValuePair<string, StringValues>>.GetEnumerator()
        {
            LockOrder.RequireNone("A header dictionary of the application");
            yield return new(name ?? throw new NotSupportedException("on purpose"), value);
        }
    }
}
