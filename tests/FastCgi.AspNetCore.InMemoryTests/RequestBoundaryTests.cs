namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request ends exactly once, also when the application, its middleware or its log providers fail: no other request
/// gets its bytes, the web server always gets an answer, and the server continues.
/// </summary>
public sealed class RequestBoundaryTests
{
    private const int Enough = 30;

    private static readonly Dictionary<string, RequestDelegate> s_mistakes = new()
    {
        ["status 0"] = static _ => throw new BadHttpRequestException("on purpose", 0),
        ["status 99"] = static _ => throw new BadHttpRequestException("on purpose", 99),
        ["status 200"] = static _ => throw new BadHttpRequestException("on purpose", 200),
        ["status 204"] = static _ => throw new BadHttpRequestException("on purpose", 204),
        ["status 1000"] = static _ => throw new BadHttpRequestException("on purpose", 1_000),
        ["header without a name"] = ReplaceHeaders(""),
        ["header whose name has a space"] = ReplaceHeaders("a b"),
        ["header whose name has a line break"] = ReplaceHeaders("a\r\nb"),
        ["headers that throw"] = ReplaceHeaders(null),
        ["no task"] = static _ => null!,
    };

    public static TheoryData<string> Mistakes => [.. s_mistakes.Keys];

    [Theory, MemberData(nameof(Mistakes))]
    public async Task Mistake_BeforeTheStart_500AndTheServerContinues(string mistake)
    {
        await using var server = await TestServer.StartAsync(ForBad(s_mistakes[mistake]), expects: "ApplicationError");

        await AssertBadIsAnsweredAsync(server);
    }

    [Fact]
    public async Task CompleteAsync_InvalidHead_ThrowsAndTheRequestEnds()
    {
        Exception? seen = null;
        await using var server = await TestServer.StartAsync(ForBad(async context =>
        {
            context.Response.StatusCode = 101;
            seen = await Record.ExceptionAsync(context.Response.CompleteAsync);
        }), expects: "ApplicationError");

        await AssertBadIsAnsweredAsync(server);
        Assert.IsType<InvalidOperationException>(seen);
        Assert.Equal(0, server.Connections.CountRequests());
    }

    [Fact]
    public async Task Callbacks_OfTheApplication_AreCalledWithoutALock()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            app => RunExtensions.Run(app, context =>
            {
                context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new OddHeaders("X-Odd", "é");
                context.Response.OnStarting(Apps.Do(static () => Invariants.RequireNoLock("OnStarting")));
                return context.Response.WriteAsync("hello");
            }),
            options => options.ResponseHeaderEncodingSelector = static _ =>
            {
                Invariants.RequireNoLock("The choice of an encoding");
                return Encoding.UTF8;
            });

        Assert.Equal("Ã©", (await frontEnd.AskAsync())["X-Odd"]);
        Assert.Null(Invariants.FirstViolation);
    }

    /// <summary>To receive, to write, to end, when the application returns, and after the send.</summary>
    [Fact]
    public async Task GET_Plain_AcquiresTheLockAtMostFiveTimes()
        => Assert.InRange(
            await CountLocksAsync(
                static context => context.Response.Body.WriteAsync("Hello"u8.ToArray()).AsTask(), RecordBytes.Get()),
            1,
            5);

    /// <summary>Besides: when the application awaits, and for each read.</summary>
    [Fact]
    public async Task POST_BodyReadAfterAnAwait_AcquiresTheLockAtMostEightTimes()
        => Assert.InRange(
            await CountLocksAsync(
                static async context =>
                {
                    await Task.Yield();
                    var body = await context.Request.BodyReader.ReadAsync();
                    Assert.Equal((true, 100L), (body.IsCompleted, body.Buffer.Length));
                    context.Request.BodyReader.AdvanceTo(body.Buffer.End);
                    await context.Response.Body.WriteAsync("Hello"u8.ToArray());
                },
                RecordBytes.Post(1, "/", new byte[100])),
            1,
            8);

    private static async Task<int> CountLocksAsync(RequestDelegate application, byte[] request)
    {
        // Continuations run here, so that the locks of all are counted.
        var posted = new Queue<(SendOrPostCallback Callback, object? State)>();
        // Without hosting's log, which asks for headers.
        await using var frontEnd = await TestServer.ConnectAsync(
            app => app.Run(context =>
            {
                SynchronizationContext.SetSynchronizationContext(new QueueContext(posted));
                return application(context);
            }),
            services: static services => services.Configure<LoggerFilterOptions>(
                static options => options.MinLevel = LogLevel.Warning));
        // As if the watchdog ran: the only write is sent with the end.
        frontEnd.Server.Deadlines = static _ => true;
        CountLocks();
        return CountLocks();

        int CountLocks()
        {
            var before = Invariants.LockCount;
            frontEnd.Send(request);
            while (posted.TryDequeue(out var next))
                next.Callback(next.State);
            Assert.Single(frontEnd.Transport.CountEnds());
            return Invariants.LockCount - before;
        }
    }

    private sealed class QueueContext(Queue<(SendOrPostCallback Callback, object? State)> posted)
        : SynchronizationContext
    {
        public override void Post(SendOrPostCallback d, object? state) => posted.Enqueue((d, state));
    }

    private static RequestDelegate ReplaceHeaders(string? name) => context =>
    {
        context.Features.GetRequiredFeature<IHttpResponseFeature>().Headers = new OddHeaders(name, "x");
        return name is null ? context.Response.WriteAsync("hello") : Task.CompletedTask;
    };

    private static RequestDelegate ForBad(RequestDelegate bad)
        => context => context.Request.Path == "/bad" ? bad(context) : Apps.Target(context);

    private static async Task AssertBadIsAnsweredAsync(TestServer server)
    {
        var frontEnd = server.Connect();
        Assert.Equal(500, (await frontEnd.AskAsync(RecordBytes.Get(uri: "/bad"))).Status);

        // The connection stays open, and late records of the ended request reach no other.
        frontEnd.Send(RecordBytes.StdinStream(1, "late"u8));
        Assert.Equal("GET /next", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/next"))).Text);
        for (var i = 0; i < Enough; i++)
            Assert.Equal($"GET /{i}", (await frontEnd.AskAsync(RecordBytes.Get(uri: $"/{i}"))).Text);
    }
}
