namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Samples the queues every millisecond while they call the application, and parks otherwise. If a queue is in the same call at two samples and
/// its thread sleeps or computes, the watchdog takes the queue and gives the rest of its batch to another thread. A thread that only waits for a
/// processor keeps its queue. In either case, output that a call or an awaiting handler holds back is soon sent.
/// </summary>
internal sealed class StallWatchdog(WorkerPool workers, PathPredictor predictor, ColdStart coldStart, ThreadPlatform platform, ILogger log) : ThreadBody
{
    /// <summary>The time between two samples under load.</summary>
    public static readonly TimeSpan ShortInterval = TimeSpan.FromMilliseconds(1);

    // After this many further samples in the same call, its output is sent in any case. If the system cannot report what the thread does, it counts
    // as kept then.
    private const int MaxSamples = 3;

    // A thread that only waits for a processor may use this much between two samples, because it can be interrupted at any time.
    private const long ComputingNanoseconds = 200_000;

    // Fewer calls between two samples are light load, for which a longer interval is enough.
    private const long BusyCalls = 8;
    private const int QuietSamplesBeforePark = 50;

    // Rarer flushes are not worth the samples.
    private const long MaxMillisecondsBetweenFlushes = 2;

    private static readonly TimeSpan s_longInterval = TimeSpan.FromMilliseconds(4);

    private readonly Lock _lock = new();

    // Guarded by the lock.
    private Watched[] _queues = [];
    private List<ResponseOutput> _corked = [];
    private List<ResponseOutput> _overdue = [];
    private bool _hasDeadlines;

    private bool _takesQueues;
    private bool _isStopping;
    private bool _isStarted;
    private int _isParked;
    private int _quietSamples;
    private long _lastFlush;
    private long _handOverCount;

    public bool TakesQueues
    {
        get => Volatile.Read(ref _takesQueues);
        init => _takesQueues = value;
    }

    /// <summary>Whether the next sample waits for <see cref="OnActivity"/>.</summary>
    public bool IsParked => Volatile.Read(ref _isParked) != 0;
    public long HandOverCount => Volatile.Read(ref _handOverCount);

    public void Add(RunQueue queue)
    {
        lock (_lock)
            Volatile.Write(ref _queues, [.. _queues, new Watched(queue)]);
    }

    public void Start()
    {
        SetDeadlines(true);
        _isStarted = true;
        platform.Start("FastCgi watchdog", this);
    }

    /// <summary>Takes queues from now on, whatever the options say.</summary>
    public void BeginStop()
    {
        Volatile.Write(ref _takesQueues, true);
        OnActivity();
    }

    /// <summary>Stops sampling. It may be called more than once, and at any time.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Called when a queue enters a call, or when there are flushes to hold.</summary>
    public void OnActivity()
    {
        if (Volatile.Read(ref _isParked) != 0 && Interlocked.Exchange(ref _isParked, 0) != 0)
            Wake();
    }

    /// <summary>Calls <see cref="ResponseOutput.Uncork"/> within a few milliseconds.</summary>
    /// <returns>Whether it will. If not, nothing may be held.</returns>
    public bool TrySetDeadline(ResponseOutput response)
    {
        lock (_lock)
        {
            if (_hasDeadlines)
            {
                _corked.Add(response);
                return true;
            }
        }

        if (!_isStarted)
            return false;

        var now = Environment.TickCount64;
        if (now - Volatile.Read(ref _lastFlush) <= MaxMillisecondsBetweenFlushes)
            OnActivity();
        Volatile.Write(ref _lastFlush, now);
        return false;
    }

    /// <summary>Samples all queues and deadlines once. One thread at a time.</summary>
    public LookResult Look()
    {
        var result = new LookResult();
        foreach (var watched in Volatile.Read(ref _queues))
        {
            try
            {
                result.Calls += Look(watched);
            }
            catch (Exception exception)
            {
                log.ServerFailed(exception);
            }

            result.IsInCall |= watched.Call != 0;
        }

        result.HadDeadlines = UncorkOverdue();
        coldStart.EndIfLate();
        result.IsInCall |= coldStart.IsFirstRunning;
        workers.OnLooked();
        return result;
    }

    /// <returns>The number of calls since the previous sample.</returns>
    private long Look(Watched watched)
    {
        var queue = watched.Queue;
        var batch = queue.Batch;
        var call = queue.CurrentCall;
        var callCount = queue.CallCount;
        var calls = callCount - watched.CallCount;
        watched.CallCount = callCount;
        if (call == 0 || call != watched.Call)
        {
            // Many short calls: the output of the first must not wait for the last.
            if (call != 0 && watched.Call != 0 && batch == watched.Batch)
                queue.Output?.FlushNow();
            watched.Call = call;
            watched.Batch = batch;
            watched.Samples = 0;
            watched.ProcessorTime = call == 0 ? -1 : queue.Probe?.ProcessorTime ?? -1;
            return calls;
        }

        watched.Samples++;
        var isKept = IsKept(watched);
        if (isKept && TakesQueues && TryTake(queue, call))
            watched.Call = 0;
        else if (isKept || watched.Samples >= MaxSamples)
            Uncork(queue, call);
        return calls;
    }

    /// <summary>Whether the thread sleeps or computes in the application, rather than waits for a processor.</summary>
    private static bool IsKept(Watched watched)
    {
        var probe = watched.Queue.Probe;
        var processorTime = probe?.ProcessorTime ?? -1;
        var hasComputed = watched.ProcessorTime >= 0 && processorTime - watched.ProcessorTime >= ComputingNanoseconds;
        return hasComputed || (probe?.IsSleeping ?? watched.Samples >= MaxSamples);
    }

    private bool TryTake(RunQueue queue, long call)
    {
        if (!queue.TryGetCall(call, out var response))
            return true;

        var output = queue.Output;
        var path = queue.Path;
        if (!workers.TryReserve())
            return false;

        if (!queue.TryLeave(call))
        {
            workers.Release();
            return true;
        }

        Interlocked.Increment(ref _handOverCount);
        if (response is not null)
            predictor.OnStalled(path);
        workers.Run(queue);
        response?.Uncork();
        output?.FlushNow();
        workers.EnsureSpare();
        return true;
    }

    private static void Uncork(RunQueue queue, long call)
    {
        var output = queue.Output;
        if (!queue.TryGetCall(call, out var response))
            return;

        response?.Uncork();
        output?.FlushNow();
    }

    private bool UncorkOverdue()
    {
        lock (_lock)
            (_corked, _overdue) = (_overdue, _corked);

        foreach (var response in _overdue)
            ThreadRoot.Run(response, static response => response.Uncork(), log);

        var hadAny = _overdue.Count > 0;
        _overdue.Clear();
        return hadAny;
    }

    /// <summary>Sets whether deadlines are accepted. A caller that stops that must uncork once more.</summary>
    private void SetDeadlines(bool areKept)
    {
        lock (_lock)
            _hasDeadlines = areKept;
    }

    public override TimeSpan? Step()
    {
        if (Volatile.Read(ref _isStopping))
        {
            SetDeadlines(false);
            UncorkOverdue();
            return null;
        }

        Volatile.Write(ref _isParked, 0);
        SetDeadlines(true);
        var result = Look();
        _quietSamples = result.IsActive ? 0 : _quietSamples + 1;
        if (_quietSamples >= QuietSamplesBeforePark && TryPark())
            return Timeout.InfiniteTimeSpan;

        return result.Calls >= BusyCalls || result.IsInCall ? ShortInterval : s_longInterval;
    }

    private bool TryPark()
    {
        _quietSamples = 0;
        SetDeadlines(false);
        Volatile.Write(ref _isParked, 1);
        // A call begins with a plain write, then checks whether we are parked. With this barrier on all processors, either that thread sees that
        // we are, or we see the call. Without it, each call would need a barrier.
        platform.SetBarrierForAllThreads();
        return !Look().IsActive && !Volatile.Read(ref _isStopping);
    }

    public struct LookResult
    {
        public long Calls;
        public bool IsInCall;
        public bool HadDeadlines;
        public readonly bool IsActive => Calls > 0 || IsInCall || HadDeadlines;
    }

    private sealed class Watched(RunQueue queue)
    {
        public RunQueue Queue => queue;

        public long Call { get; set; }

        public long CallCount { get; set; }

        public long Batch { get; set; }

        public long ProcessorTime { get; set; } = -1;

        public int Samples { get; set; }
    }
}
