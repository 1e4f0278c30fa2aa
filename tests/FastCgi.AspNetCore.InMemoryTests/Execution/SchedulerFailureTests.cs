namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Whatever fails in the scheduler, or is left on its threads, a queue keeps its thread, and its requests are answered.</summary>
public sealed class SchedulerFailureTests
{
    [Theory, Values("probe", "wake", "usage", "thread", "source")]
    public async Task Continue_SomethingFails_TheQueueGoesOn(string what)
    {
        await using var server = await TestServer.StartAsync(Apps.Target);
        var (broken, frontEnd) = (server.Connect(), server.Connect());
        var platform = new BrokenPlatform(what);
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2 }, platform, TimeProvider.System, NullLogger.Instance);
        var source = new Source(what == "source");
        scheduler.Watchdog.Add(source.Queue);
        scheduler.EndColdStart();
        if (what == "thread")
            scheduler.Predictor.OnStalled(new PathKey("/1"));
        source.Receive(broken, RecordBytes.Get(1, "/1"));
        source.Receive(frontEnd, RecordBytes.Get(2, "/2"));
        source.Receive(frontEnd, RecordBytes.Get(3, "/3"));

        Assert.True(scheduler.Continue(source.Queue));

        Assert.Equal("GET /2", (await frontEnd.ReadResponseAsync(2)).Text);
        Assert.Equal("GET /3", (await frontEnd.ReadResponseAsync(3)).Text);
        Assert.Equal("GET /1", (await broken.ReadResponseAsync(1)).Text);
    }

    [Theory, Values(FastCgiApplicationScheduling.Inline, FastCgiApplicationScheduling.Auto)]
    public async Task Thread_ChangedByAHandler_IsAsBefore(FastCgiApplicationScheduling scheduling)
    {
        var seen = new List<(ThreadPriority, bool, Thread)>();
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            var thread = Thread.CurrentThread;
            seen.Add((thread.Priority, thread.IsBackground, thread));
            (thread.Priority, thread.IsBackground) = (ThreadPriority.Lowest, false);
            return Apps.Hello(context);
        });
        var platform = new SteppedPlatform();
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2, ApplicationScheduling = scheduling }, platform, TimeProvider.System, NullLogger.Instance);
        scheduler.EndColdStart();
        if (scheduling == FastCgiApplicationScheduling.Auto)
            scheduler.Predictor.OnStalled(new PathKey("/"));
        var source = new Source();
        source.Receive(frontEnd, RecordBytes.Get(1));
        source.Receive(frontEnd, RecordBytes.Get(2));

        await Task.Factory.StartNew(
            () =>
            {
                Thread.CurrentThread.IsBackground = true;
                scheduler.Continue(source.Queue);
                platform.RunAll(withWatchdog: false);
                seen.Add((Thread.CurrentThread.Priority, Thread.CurrentThread.IsBackground, Thread.CurrentThread));
            },
            CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);

        Assert.Equal(3, seen.Count);
        Assert.All(seen, call => Assert.Equal((ThreadPriority.Normal, true, seen[0].Item3), call));
    }

    /// <summary>Bytes of connections, one receive at a time.</summary>
    private sealed class Source
    {
        private readonly Queue<(FrontEnd FrontEnd, byte[] Bytes)> _received = new();
        private bool _fails;

        public Source(bool fails = false)
        {
            _fails = fails;
            Queue = new RunQueue(TryBeginNext);
        }

        public RunQueue Queue { get; }

        public void Receive(FrontEnd frontEnd, byte[] bytes) => _received.Enqueue((frontEnd, bytes));

        private bool TryBeginNext()
        {
            if (_fails)
            {
                _fails = false;
                throw new InvalidOperationException("on purpose");
            }

            if (!_received.TryDequeue(out var next))
                return false;

            var ready = next.FrontEnd.Receive(next.Bytes);
            Queue.Begin(ref ready, next.FrontEnd.Transport.Connection.Output);
            return true;
        }
    }

    /// <summary>A system that fails in one way.</summary>
    private sealed class BrokenPlatform(string what) : ThreadPlatform
    {
        public override void Start(string name, ThreadBody body) => Fail("thread");

        public override void StartOnThreadPool(ThreadBody body) => Task.Run(() =>
        {
            while (body.Step() == TimeSpan.Zero)
            {
            }
        });

        public override ThreadProbe? ProbeThisThread()
        {
            Fail("probe");
            return null;
        }

        public override ThreadUsage GetUsageOfThisThread()
        {
            Fail("usage");
            return default;
        }

        public override void SetBarrierForAllThreads() => Fail("wake");

        public override void Pause(TimeSpan time)
        {
        }

        private void Fail(string call)
        {
            if (call == what)
                throw new InvalidOperationException("on purpose");
        }
    }
}
