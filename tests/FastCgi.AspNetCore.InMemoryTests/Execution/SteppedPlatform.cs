namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Threads that go on when the test says so.</summary>
internal sealed class SteppedPlatform : ThreadPlatform
{
    public List<ThreadBody> Started { get; } = [];

    public List<ThreadBody> OnThreadPool { get; } = [];

    /// <summary>Whether the system has threads.</summary>
    public bool HasThreads { get; set; } = true;

    /// <summary>Whether the threads that the system has are for .NET.</summary>
    public bool IsScarce { get; set; }

    public override bool AreThreadsScarce => IsScarce;

    /// <summary>What the thread that asks shows of itself.</summary>
    public FakeProbe? Probe { get; set; } = new();

    /// <summary>What the thread that asks has used.</summary>
    public ThreadUsage Usage { get; set; }

    public Action OnBarrier { get; set; } = static () => { };

    /// <summary>Lets the threads that are there do what there is to do.</summary>
    public void RunAll(bool withWatchdog = true)
    {
        foreach (var thread in Started.Where(thread => withWatchdog || thread is Worker).ToList())
        {
            while (thread.Step() == TimeSpan.Zero)
            {
            }
        }
    }

    public override void SetBarrierForAllThreads() => OnBarrier();

    public override void Start(string name, ThreadBody body)
    {
        if (!HasThreads)
            throw new OutOfMemoryException("No thread is left.");
        Started.Add(body);
    }

    public override void StartOnThreadPool(ThreadBody body) => OnThreadPool.Add(body);

    public override ThreadProbe? ProbeThisThread() => Probe?.Probe;

    public override ThreadUsage GetUsageOfThisThread() => Usage;
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

    public bool? Sleeps { get; set; }
}

/// <summary>A queue without requests, whose calls the test makes.</summary>
internal sealed class TestQueue
{
    public TestQueue()
    {
        Queue = new RunQueue(TryBeginNext);
    }

    public RunQueue Queue { get; }

    public FakeProbe? Probe
    {
        init => Queue.Probe = value?.Probe;
    }

    /// <summary>How often a thread went on with it.</summary>
    public int ContinueCount { get; private set; }

    /// <summary>What the thread does then, and whether the queue has ended; if not, it is taken from the thread.</summary>
    public Func<bool> OnContinue { get; set; } = static () => true;

    private bool TryBeginNext()
    {
        ContinueCount++;
        if (OnContinue())
            return false;

        var ready = new ReadyRequests();
        ready.Report(() => Assert.True(Queue.TryLeave(Queue.CurrentCall)));
        Queue.Begin(ref ready, new RecordOutput(new BufferPool(), null!, null!));
        return true;
    }

    public static implicit operator RunQueue(TestQueue queue) => queue.Queue;
}
