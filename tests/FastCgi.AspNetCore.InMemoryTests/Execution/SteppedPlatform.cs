namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Threads that continue when the test says so.</summary>
internal sealed class SteppedPlatform() : ThreadPlatform(NullLogger.Instance)
{
    public List<ThreadBody> Started { get; } = [];

    public int Processors { get; init; } = 2;

    public override int ProcessorCount => Processors;

    public int MaxThreads { get; init; } = int.MaxValue;

    public override int MaxHandlerThreads => MaxThreads;

    /// <summary>Whether the system can start a thread.</summary>
    public bool HasThreads { get; set; } = true;

    /// <summary>The state of the calling thread.</summary>
    public FakeProbe? Probe { get; set; } = new();

    /// <summary>What the calling thread has used.</summary>
    public ThreadUsage? Usage { get; set; } = new(Processor: 0, Delayed: 0);

    public Action OnBarrier { get; set; } = static () => { };

    public IEnumerable<Worker> Workers => Started.OfType<Worker>();

    /// <summary>Lets the workers do all pending work.</summary>
    public void RunAll()
    {
        for (var isBusy = true; isBusy;)
        {
            isBusy = false;
            foreach (var worker in Workers.ToList())
                isBusy |= worker.Step() == TimeSpan.Zero;
        }
    }

    public override void SetBarrierForAllThreads() => OnBarrier();

    public override void Start(string name, ThreadBody body)
    {
        if (!HasThreads)
            throw new OutOfMemoryException("No thread is left.");
        Started.Add(body);
    }

    public override ThreadProbe? ProbeThisThread() => Probe?.Probe;

    public override ThreadUsage? GetUsageOfThisThread() => Usage;
}

/// <summary>A thread that does what the test says.</summary>
internal sealed class FakeProbe
{
    public FakeProbe()
    {
        Probe = new ThreadProbe(() => Time, () => Sleeps);
    }

    public ThreadProbe Probe { get; }

    public long Time { get; set; }

    public bool? Sleeps { get; set; } = false;
}

/// <summary>A loop whose events are batches of the test.</summary>
internal sealed class TestLoop
{
    private readonly Queue<Func<(ReadyRequests Ready, RecordOutput Output)>> _events = new();

    public TestLoop() => Queue = new RunQueue(TryBegin);

    public RunQueue Queue { get; }

    /// <summary>The sources from which batches were requested.</summary>
    public List<BatchSource> Asked { get; } = [];

    /// <summary>Whether it ends instead of waiting.</summary>
    public bool Ends { get; set; } = true;

    public void Receive(FrontEnd frontEnd, params byte[][] requests)
        => _events.Enqueue(() => (frontEnd.Receive(requests), frontEnd.Transport.Connection.Output));

    public void Receive(ReadyRequests ready, FrontEnd frontEnd)
        => _events.Enqueue(() => (ready, frontEnd.Transport.Connection.Output));

    public void Report(FrontEnd frontEnd, Action report) => _events.Enqueue(() =>
    {
        var ready = new ReadyRequests();
        ready.Report(report);
        return (ready, frontEnd.Transport.Connection.Output);
    });

    public void Fail() => _events.Enqueue(static () => throw new InvalidOperationException("on purpose"));

    private BatchResult TryBegin(BatchSource source)
    {
        Asked.Add(source);
        if (!_events.TryDequeue(out var next))
            return source == BatchSource.Wait && Ends ? BatchResult.Ended : BatchResult.None;

        var (ready, output) = next();
        Queue.Begin(ref ready, output, hasMore: _events.Count > 0);
        return BatchResult.Begun;
    }

    public static implicit operator RunQueue(TestLoop loop) => loop.Queue;
}
