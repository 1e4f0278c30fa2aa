namespace FastCgi.AspNetCore.InMemoryTests.Faults;

/// <summary>
/// An application may misbehave at any stage of its response, alone on the connection or not: other requests are
/// answered completely, and nothing leaks.
/// </summary>
public sealed class MisbehaviorTests
{
    private static readonly string[] s_stages = ["begun", "written", "started", "flushed", "completed"];

    public static TheoryData<string> Names => [.. Misbehaviors.All.Keys];

    [Theory, MemberData(nameof(Names))]
    public async Task Misbehavior_AtEachStage_OthersAreUnharmed(string misbehavior)
    {
        var sibling = Waiting.Signal();
        await using var server = await TestServer.StartAsync(async context =>
        {
            var path = context.Request.Path.Value!.Split('/');
            if (path[1] == "sibling")
                await sibling.Task;
            if (path[1] != "odd")
            {
                await Apps.Target(context);
                return;
            }

            await ReachAsync(context, path[2]);
            await Misbehaviors.All[misbehavior](context);
        });
        ExpectErrors(server);

        // A completed request can no longer be aborted, so waiting for the abort would never end.
        foreach (var stage in s_stages.Where(stage => stage != "completed" || misbehavior != "waits until aborted"))
        {
            foreach (var isAlone in new[] { true, false })
            {
                sibling = Waiting.Signal();
                await MisbehaveAsync(server, $"/odd/{stage}", isAlone, sibling);
            }
        }

        await AssertIdleAsync(server);
    }

    [Fact]
    public async Task Listeners_ThrowAtEachTurn_RequestsAreAnswered()
    {
        var turns = new Turns();
        await using var server = await TestServer.StartAsync(
            static app => app.Run(
                static context => context.Request.Path == "/throw"
                ? throw new InvalidOperationException("on purpose")
                : Apps.Target(context)),
            services: services => services.AddSingleton<ILoggerProvider>(
                new ActingLogs(_ => turns.Take(), turns.Take)));
        ExpectErrors(server);
        using var listener = Listen(server, turns);
        using var activities = new ActivityListener
        {
            ShouldListenTo = source => source == server.Services.GetRequiredService<ActivitySource>(),
            Sample = (ref _) =>
            {
                turns.Take();
                return ActivitySamplingResult.AllDataAndRecorded;
            },
            ActivityStarted = _ => turns.Take(),
            ActivityStopped = _ => turns.Take(),
        };
        ActivitySource.AddActivityListener(activities);

        // One turn later each time, until a whole exchange has none that throws.
        int failing;
        for (failing = 1; failing == 1 || failing <= turns.Largest; failing++)
        {
            Assert.InRange(failing, 1, 500);
            turns.Begin(failing);
            var frontEnd = server.Connect();
            frontEnd.Send(RecordBytes.Get(1, "/one"), RecordBytes.Get(2, "/throw"), RecordBytes.Get(3, "/three"));
            await frontEnd.Transport.WaitUntilAsync(
                () => HasEnded(frontEnd)
                || SentRecords.Read(frontEnd.Transport.Sent).Count(static answer => answer.Value.IsOver) == 3,
                "the answers");
            frontEnd.Close();
            await Waiting.UntilAsync(() => server.Connections.Count == 0, "the end of the connection");
            turns.Begin(int.MaxValue);
            await AssertServedAsync(server);
        }

        Assert.InRange(failing, 10, 500);
        await AssertIdleAsync(server);
    }

    private static MeterListener Listen(TestServer server, Turns turns)
    {
        // Only of this server: tests run in parallel.
        var meters = server.Services.GetRequiredService<IMeterFactory>();
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter.Scope == meters)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<long>((_, _, _, _) => turns.Take());
        listener.SetMeasurementEventCallback<double>((_, _, _, _) => turns.Take());
        listener.Start();
        return listener;
    }

    private static async Task ReachAsync(HttpContext context, string stage)
    {
        switch (stage)
        {
            case "written":
                context.Response.BodyWriter.Write("some"u8);
                break;
            case "started":
                await context.Response.StartAsync();
                break;
            case "flushed":
                await context.Response.WriteAsync("some");
                await context.Response.Body.FlushAsync();
                break;
            case "completed":
                await context.Response.WriteAsync("some");
                await context.Response.CompleteAsync();
                break;
        }
    }

    private static async Task MisbehaveAsync(TestServer server, string uri, bool isAlone, TaskCompletionSource sibling)
    {
        var frontEnd = server.Connect();
        if (!isAlone)
            frontEnd.Send(RecordBytes.Get(2, "/sibling"));
        frontEnd.Send(RecordBytes.Post(1, uri, Apps.Pattern(20_000)));
        frontEnd.Send(RecordBytes.Get(3, "/next"));
        // Some never end by themselves.
        frontEnd.Send(RecordBytes.Abort(1));
        sibling.SetResult();

        foreach (var (id, text) in new[] { (2, "GET /sibling"), (3, "GET /next") })
        {
            if (isAlone && id == 2)
                continue;
            await frontEnd.Transport.WaitUntilAsync(
                () => HasEnded(frontEnd) || IsOver(frontEnd, id), $"the answer {id} of {uri}");
            // A truncated answer may cost the connection if it is alone on it, and with it the next request.
            Assert.True(
                IsOver(frontEnd, id) || isAlone || id == 3, $"Request {id} of {uri} was lost with the connection.");
            if (IsOver(frontEnd, id))
                Assert.EndsWith(text, System.Text.Encoding.Latin1.GetString([.. SentRecords.Read(
                    frontEnd.Transport.Sent)[id].Stdout]));
        }

        frontEnd.Close();
        await AssertServedAsync(server);
    }

    private static bool HasEnded(FrontEnd frontEnd) => frontEnd.Transport.IsReset || frontEnd.Transport.IsClosed;

    private static bool IsOver(FrontEnd frontEnd, int id)
        => SentRecords.Read(frontEnd.Transport.Sent).TryGetValue(id, out var answer) && answer.IsOver;

    private static async Task AssertServedAsync(TestServer server)
    {
        var frontEnd = server.Connect();
        Assert.Equal("GET /again", (await frontEnd.AskAsync(RecordBytes.Get(uri: "/again"))).Text);
        frontEnd.Close();
    }

    private static async Task AssertIdleAsync(TestServer server)
    {
        await Waiting.UntilAsync(
            () => server.Connections.Count == 0 && server.Connections.CountRequests() == 0, "all requests to end");
        await server.AssertNothingIsRentedAsync();
    }

    private static void ExpectErrors(TestServer server)
        => server.Logs.Expected.UnionWith(
            ["ApplicationError", "DisposeContextFailed", "CancellationCallbackFailed", "RequestEndFailed"]);

    /// <summary>Counts the calls to listeners, and throws on one of them.</summary>
    private sealed class Turns
    {
        private int _count;
        private int _failing = int.MaxValue;

        public int Count => Volatile.Read(ref _count);

        public int Largest { get; private set; }

        public void Begin(int failing)
        {
            Largest = Math.Max(Largest, Count);
            Volatile.Write(ref _failing, failing);
            Volatile.Write(ref _count, 0);
        }

        public void Take()
        {
            if (Interlocked.Increment(ref _count) == Volatile.Read(ref _failing))
                throw new InvalidOperationException("A listener throws on purpose.");
        }
    }
}
