namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Web servers on separate threads that begin requests, abort, and leave, applications that end in every way, and
/// passing time, all at once: the limits hold, even for OnStarting, each awaited request ends once, and all slots are
/// free again.
/// </summary>
public sealed class SlotStressTests
{
    private const int Limit = 3;
    private const int Queue = 5;
    private const int Status = 8;
    private const int Threads = 4;
    private const int Steps = 150;

    // A handler that waits until it is aborted may never be.
    private static readonly RequestDelegate[] s_endings = [.. Faults.Misbehaviors.All.Where(
        static ending => ending.Key != "waits until aborted").Select(static ending => ending.Value)];

    private readonly ConcurrentBag<string> _wrong = [];
    private int _ordinary;
    private int _all;

    [Theory]
    [InlineData(1, false)]
    [InlineData(2, true)]
    [InlineData(3, false)]
    [InlineData(4, true)]
    public async Task Slots_AllAtOnce_AreLimitedAndReleased(int seed, bool isStopped)
    {
        await using var server = await TestServer.StartAsync(
            RunAsync,
            static options =>
            {
                (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (Limit, Queue);
                options.Limits.RequestQueueTimeout = TimeSpan.FromSeconds(3);
                options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.ThreadPool;
            },
            statusPaths: ["/status"]);
        server.Logs.Expected.UnionWith(
        [
            "ApplicationError", "DisposeContextFailed", "CancellationCallbackFailed", "RequestEndFailed",
            "ConnectionsNotClosedInTime", "StopTimedOut",
        ]);
        var ended = 0;
        var clock = Task.Run(async () =>
        {
            while (Volatile.Read(ref ended) < Threads)
            {
                server.Clock.Advance(TimeSpan.FromMilliseconds(500));
                await YieldAsync(5);
            }
        });
        var webServers = Enumerable.Range(0, Threads).Select(thread => Task.Run(async () =>
        {
            try
            {
                await BeWebServerAsync(server, new Random((seed * Threads) + thread));
            }
            finally
            {
                Interlocked.Increment(ref ended);
            }
        })).ToList();
        var stopping = Task.CompletedTask;
        if (isStopped)
        {
            await Waiting.UntilAsync(() => Volatile.Read(ref _all) > 2 || Volatile.Read(ref ended) == Threads, "work");
            stopping = server.StopAsync(new CancellationToken(canceled: true));
        }

        await Task.WhenAll(webServers).Within("the web servers");
        await clock;
        await Waiting.UntilAsync(
            () => server.Context.Admission.TakenCount == (0, 0) && server.Context.Admission.QueuedCount == 0,
            "all slots to be free");
        await stopping.Within("the stop");
        Assert.Empty(_wrong);
        Assert.Equal((0, 0), (_ordinary, _all));
    }

    private async Task BeWebServerAsync(TestServer server, Random random)
    {
        var open = new List<(FrontEnd FrontEnd, List<int> Ids)>();
        for (var step = 1; step <= Steps; step++)
        {
            if (server.Connections.IsStopping && open.Count == 0)
                break;
            if ((open.Count == 0 || random.Next(8) == 0) && !server.Connections.IsStopping)
            {
                try
                {
                    open.Add((server.Connect(), []));
                }
                catch (Xunit.Sdk.XunitException)
                {
                    // The server stops.
                    break;
                }
            }

            var which = random.Next(open.Count);
            var (frontEnd, ids) = open[which];
            switch (random.Next(12))
            {
                case 0:
                    frontEnd.Close();
                    open.RemoveAt(which);
                    break;
                case 1 or 2 when ids.Count > 0:
                    frontEnd.Send(RecordBytes.Abort(ids[random.Next(ids.Count)]));
                    break;
                case 3:
                    await Task.Yield();
                    break;
                default:
                    ids.Add(step);
                    var ending = random.Next(s_endings.Length * 9 / 8);
                    frontEnd.Send(RecordBytes.Get(step, (random.Next(4) == 0 ? "/status/" : "/") + ending));
                    break;
            }
        }

        foreach (var (frontEnd, ids) in open)
        {
            await frontEnd.Transport.WaitUntilAsync(
                () => frontEnd.Transport.IsReset
                    || frontEnd.Transport.IsClosed
                    || frontEnd.Transport.CountEnds().Count >= ids.Count,
                "the ends");
            foreach (var (id, _) in frontEnd.Transport.CountEnds().Where(static end => end.Value != 1))
                _wrong.Add($"{id} has more than one end.");
        }
    }

    private void Enter(bool isForStatus)
    {
        if (Interlocked.Increment(ref _all) > Limit + Status)
            _wrong.Add("Too many run.");
        if (!isForStatus && Interlocked.Increment(ref _ordinary) > Limit)
            _wrong.Add("Too many that are not for the status run.");
    }

    private void Leave(bool isForStatus)
    {
        if (!isForStatus)
            Interlocked.Decrement(ref _ordinary);
        Interlocked.Decrement(ref _all);
    }

    private async Task RunAsync(HttpContext context)
    {
        var isForStatus = context.Request.Path.StartsWithSegments("/status");
        var ending = int.Parse(context.Request.Path.Value!.Split('/')[^1], CultureInfo.InvariantCulture);
        Enter(isForStatus);
        try
        {
            await Task.Yield();
            if (ending < s_endings.Length)
                await s_endings[ending](context);
            else
                context.Response.OnStarting(StartAsync);
        }
        finally
        {
            Leave(isForStatus);
        }

        async Task StartAsync()
        {
            Enter(isForStatus);
            await YieldAsync(10);
            Leave(isForStatus);
        }
    }

    private static async Task YieldAsync(int times)
    {
        for (var i = 0; i < times; i++)
            await Task.Yield();
    }
}
