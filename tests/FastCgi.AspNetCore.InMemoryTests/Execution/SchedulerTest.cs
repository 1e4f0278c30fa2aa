namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>A scheduler whose threads go on when the test says so, and a connection to an application.</summary>
public abstract class SchedulerTest : IAsyncLifetime
{
    [ThreadStatic]
    private static bool t_isInTest;

    /// <summary>Whether this is the thread of the test, in a run or a step of its.</summary>
    private protected static bool IsOnThisThread => t_isInTest;

    private protected SteppedPlatform Platform { get; } = new();

    private protected FakeClock Clock { get; } = new();

    private protected RunQueue Queue { get; } = new TestQueue();

    private protected RequestScheduler Scheduler { get; private set; } = null!;

    private protected TestServer Server { get; private set; } = null!;

    private protected FrontEnd FrontEnd { get; private set; } = null!;

    private protected RequestDelegate Application { get; set; } = Apps.Target;

    private protected ThreadBody Watchdog => Platform.Started[0];

    public async Task InitializeAsync()
    {
        Scheduler = CreateScheduler(FastCgiApplicationScheduling.Auto);
        Server = await TestServer.StartAsync(context => Application(context));
        FrontEnd = Server.Connect();
    }

    public async Task DisposeAsync() => await Server.DisposeAsync();

    private protected RequestScheduler CreateScheduler(FastCgiApplicationScheduling scheduling)
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2, ApplicationScheduling = scheduling };
        var scheduler = new RequestScheduler(options, Platform, Clock, NullLogger.Instance);
        scheduler.Watchdog.Add(Queue);
        return scheduler;
    }

    private protected ReadyRequests Receive(params byte[][] requests) => FrontEnd.Receive(requests);

    private protected bool Run(RequestScheduler scheduler, params byte[][] requests) => Run(scheduler, Queue, requests);

    private protected bool Run(RequestScheduler scheduler, RunQueue queue, params byte[][] requests)
    {
        var ready = Receive(requests);
        t_isInTest = true;
        var isOurs = Run(scheduler, queue, ref ready);
        t_isInTest = false;
        return isOurs;
    }

    private protected bool Run(RequestScheduler scheduler, RunQueue queue, ref ReadyRequests ready)
    {
        queue.Begin(ref ready, FrontEnd.Transport.Connection.Output);
        return scheduler.RunBatch(queue);
    }

    private protected void ParkWatchdog()
    {
        Scheduler.Watchdog.Start();
        while (Watchdog.Step() != Timeout.InfiniteTimeSpan)
        {
        }
    }

    /// <summary>Lets the threads of the room do what there is to do.</summary>
    private protected void Step()
    {
        t_isInTest = true;
        Platform.RunAll(withWatchdog: false);
        t_isInTest = false;
    }
}
