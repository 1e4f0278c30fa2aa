namespace FastCgi.AspNetCore.Execution;

/// <summary>The resource that a worker holds during a call of the application, in order of priority.</summary>
internal enum Permit : byte
{
    None,

    /// <summary>One of the threads for calls of the server itself that may block: the status and reports.</summary>
    Server,

    Loop,

    /// <summary>A seat, of which there is one per processor, for requests that compute.</summary>
    Seat,

    Thread,
}

/// <summary>A request to execute, work of the server, such as a report, or a loop to run: exactly one is set.</summary>
/// <param name="IsLong">Whether brief requests run before this one.</param>
internal readonly record struct WorkItem(
    FastCgiRequest? Request = null, Action? Action = null, RunQueue? Loop = null, bool IsLong = false);

/// <summary>A worker thread of the server. It runs a loop, executes requests, or is idle.</summary>
internal sealed class Worker(WorkerPool pool, RequestScheduler scheduler) : ThreadBody
{
    private const int PermitBits = 3;

    public static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(20);

    // The number of the current call, and its permit, which the watchdog may take only during that call; 0 between
    // calls.
    private long _call;
    private long _callCount;
    private FastCgiResponse? _response;
    private bool _hasStarted;
    private bool _isProbed;

    /// <summary>The loop that the thread owns. Changed by the pool, but during a call only by the watchdog.</summary>
    public RunQueue? Loop { get; set; }

    public WorkItem? Next { get; set; }

    /// <summary>Whether the thread was idle and has been woken. Changed by the pool.</summary>
    public bool IsWaking { get; set; }

    /// <summary>The resource that the thread holds outside of calls. Changed by the pool.</summary>
    public Permit Permit { get; set; }

    /// <summary>The period in which the worker last took a permit to sleep. Changed by the pool.</summary>
    public long SleepPeriod { get; set; }

    /// <summary>Reports the state of the thread; <see langword="null"/> if the system cannot report it.</summary>
    public ThreadProbe? Probe { get; set; }

    public CallMeter Meter { get; } = scheduler.CreateMeter();

    public Sample Seen { get; } = new();
    public long CurrentCall => Volatile.Read(ref _call);
    public long CallCount => Volatile.Read(ref _callCount);

    /// <summary>The path of the current call; none if the call is the server's own, such as the status.</summary>
    public PathKey Path { get; private set; }

    public static Permit GetPermit(long call) => (Permit)(call & ((1 << PermitBits) - 1));

    public void Enter(FastCgiResponse? response, PathKey path)
    {
        var count = _callCount + 1;
        _response = response;
        Path = path;
        Volatile.Write(ref _callCount, count);
        Volatile.Write(ref _call, (count << PermitBits) | (long)Permit);
    }

    /// <summary>Called by the thread when the application has returned.</summary>
    /// <returns>The resource that the thread still holds. The watchdog may have changed it.</returns>
    public Permit Leave()
    {
        Permit = GetPermit(Interlocked.Exchange(ref _call, 0));
        return Permit;
    }

    /// <summary>Changes the resource that the thread holds during a call.</summary>
    /// <returns>Whether the thread was still in the same call with the same resource.</returns>
    public bool TryChange(ref long call, Permit permit)
    {
        var changed = (call & -(1 << PermitBits)) | (long)permit;
        if (Interlocked.CompareExchange(ref _call, changed, call) != call)
            return false;

        call = changed;
        return true;
    }

    /// <summary>Gets the output that a call may hold back. Uncorking that of a later call is harmless.</summary>
    public FastCgiResponse? GetResponse() => Volatile.Read(ref _response);

    public override TimeSpan? Step()
    {
        if (!_hasStarted)
        {
            _hasStarted = true;
            pool.OnStarted();
        }

        // Other threads are not sampled, and a probe may need a descriptor.
        if (!_isProbed && Permit is (Permit.Loop or Permit.Seat))
        {
            _isProbed = true;
            Probe = scheduler.ProbeThisThread();
        }

        if (Next is { } next)
        {
            Next = null;
            scheduler.Run(this, next);
            return TimeSpan.Zero;
        }

        return pool.FindWork(this);
    }

    public sealed class Sample
    {
        public long Call { get; set; }
        public long CallCount { get; set; }
        public long Batch { get; set; }
        public long ProcessorTime { get; set; } = -1;

        public int Repeats { get; set; }
    }
}
