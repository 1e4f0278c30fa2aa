namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>
/// A scheduler whose threads continue when the test says so, with two processors, two threads for handlers that block,
/// and a connection.
/// </summary>
public abstract class SchedulerTest : IAsyncLifetime
{
    /// <summary>The kind of thread that calls the application.</summary>
    public enum Place
    {
        Loop,
        Seat,
        Thread,
        ThreadPool,
    }

    private protected const int MaxBlockingThreads = 2;

    private readonly List<Worker> _occupied = [];

    private protected SteppedPlatform Platform { get; } = new();

    private protected FakeClock Clock { get; } = new();

    private protected TestLoop Loop { get; } = new();

    private protected RequestScheduler Scheduler { get; private set; } = null!;

    private protected WorkerPool Workers => Scheduler.Workers;

    private protected TestServer Server { get; private set; } = null!;

    private protected FrontEnd FrontEnd { get; private set; } = null!;

    private protected RequestDelegate Application { get; set; } = Apps.Target;

    private protected ThreadBody Watchdog => Platform.Started.Single(static thread => thread is StallWatchdog);

    /// <summary>The worker that represents the test's own thread while it runs a loop.</summary>
    private protected Worker Here { get; private set; } = null!;

    public async Task InitializeAsync()
    {
        Scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto);
        Workers.EndFirst();
        Server = await TestServer.StartAsync(context => Application(context));
        FrontEnd = Server.Connect();
    }

    public async Task DisposeAsync()
    {
        GiveBackAll();
        Platform.RunAll();
        await Server.DisposeAsync();
        Assert.Equal(0, Workers.BlockedCount);
    }

    private protected RequestScheduler CreateScheduler(
        FastCgiApplicationScheduling scheduling, int maxBlocking = MaxBlockingThreads)
    {
        var options = new FastCgiTransportOptions
        {
            LoopCount = 1,
            MaxBlockingThreads = maxBlocking,
            ApplicationScheduling = scheduling,
        };
        return new RequestScheduler(options, Platform, Clock, NullLogger.Instance);
    }

    /// <summary>Runs the loop on this thread, as a worker, until the loop ends or the worker loses it.</summary>
    /// <returns>Whether the worker still had the loop.</returns>
    private protected bool Run(params byte[][] requests) => Run(Scheduler, requests);

    private protected bool Run(RequestScheduler scheduler, params byte[][] requests)
    {
        if (requests.Length > 0)
            Loop.Receive(FrontEnd, requests);
        var worker = Here = scheduler.CreateWorker();
        worker.Probe = Platform.Probe?.Probe;
        scheduler.Lend(worker, Loop);
        scheduler.Run(worker, Loop);
        var hadLoop = worker is { Permit: Permit.Loop, Next: null };
        if (worker.Next is { } next)
        {
            worker.Next = null;
            scheduler.Run(worker, next);
        }

        scheduler.GiveBack(worker);
        return hadLoop;
    }

    /// <summary>Teaches the predictor what the handler of a path does.</summary>
    private protected void Learn(string path, int microseconds = 1, bool? sleeps = null)
    {
        for (var i = 0; i < 40; i++)
            Scheduler.Predictor.OnMeasured(new PathKey(path), new CallCost(microseconds, sleeps));
    }

    /// <summary>Makes the loop busy: its requests take much of the time.</summary>
    private protected void MakeBusy()
    {
        var now = Scheduler.CreateMeter().Now;
        Loop.Queue.CountWork(now);
        Loop.Queue.UpdateLoad(now);
        Assert.True(Loop.Queue.IsBusy);
    }

    /// <summary>Occupies seats or threads, as handlers do that never return.</summary>
    private protected void Occupy(Permit permit, int count)
    {
        for (var i = 0; i < count; i++)
            _occupied.Add(Scheduler.Occupy(permit));
    }

    private protected void GiveBackAll()
    {
        _occupied.ForEach(Scheduler.GiveBack);
        _occupied.Clear();
    }

    private protected void ParkWatchdog()
    {
        Scheduler.Watchdog.Start();
        while (Watchdog.Step() != Timeout.InfiniteTimeSpan)
        {
        }
    }
}
