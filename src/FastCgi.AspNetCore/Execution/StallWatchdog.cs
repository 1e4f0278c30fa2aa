using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Looks at the queues every millisecond while they call the application, and parks while they do not. A queue that is found in the
/// same call again, on a thread that sleeps or computes, is taken and given to another thread with the rest of its batch; one that
/// merely waits for a processor is left alone. What a call, or a handler that awaits, holds back is sent before long in either case.
/// </summary>
internal sealed class StallWatchdog
{
    /// <summary>The time between two looks while there is load.</summary>
    public static readonly TimeSpan ShortInterval = TimeSpan.FromMilliseconds(1);

    // In the same call at so many looks behind the first: what it holds back is sent, whatever its thread does. Where the system does
    // not tell what the thread does, the thread counts as kept then.
    private const int MaxLooks = 3;

    // What a thread that only waits for a processor may use of one in between, being interrupted at any time.
    private const long ComputingNanoseconds = 200_000;

    // Fewer calls than this between two looks are little load, for which looking less often is enough.
    private const long BusyCalls = 8;
    private const int QuietLooksBeforePark = 50;

    // Flushes that come less often do not pay for the looks.
    private const long MaxMillisecondsBetweenFlushes = 2;

    private static readonly TimeSpan s_longInterval = TimeSpan.FromMilliseconds(4);

    private readonly WorkerPool _workers;
    private readonly PathPredictor _predictor;
    private readonly ColdStart _coldStart;
    private readonly ThreadPlatform _platform;
    private readonly ILogger _log;
    private readonly Body _body;
    private readonly Lock _lock = new();

    // Under the lock.
    private Watched[] _queues = [];
    private List<ResponseOutput> _corked = [];
    private List<ResponseOutput> _overdue = [];
    private bool _hasDeadlines;

    private bool _takesQueues;
    private bool _isStopping;
    private bool _isStarted;
    private int _isParked;
    private int _quietLooks;
    private long _lastFlush;
    private long _handOverCount;

    public StallWatchdog(WorkerPool workers, PathPredictor predictor, ColdStart coldStart, ThreadPlatform platform, ILogger log)
    {
        _workers = workers;
        _predictor = predictor;
        _coldStart = coldStart;
        _platform = platform;
        _log = log;
        _body = new Body(this);
    }

    /// <summary>Whether queues are taken from threads that the application keeps.</summary>
    public bool TakesQueues
    {
        get => Volatile.Read(ref _takesQueues);
        init => _takesQueues = value;
    }

    /// <summary>Whether <see cref="OnActivity"/> is needed for the next look.</summary>
    public bool IsParked => Volatile.Read(ref _isParked) != 0;

    /// <summary>The queues that were taken from a thread that the application kept.</summary>
    public long HandOverCount => Volatile.Read(ref _handOverCount);

    /// <summary>Watches a queue from now on.</summary>
    public void Add(RunQueue queue)
    {
        lock (_lock)
            Volatile.Write(ref _queues, [.. _queues, new Watched(queue)]);
    }

    /// <summary>Starts to look.</summary>
    public void Start()
    {
        SetDeadlines(true);
        _isStarted = true;
        _platform.Start("FastCgi watchdog", _body);
    }

    /// <summary>From now on queues are taken whatever the options say.</summary>
    public void BeginStop()
    {
        Volatile.Write(ref _takesQueues, true);
        OnActivity();
    }

    /// <summary>Stops to look. It may be called more than once, and at any time.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        _body.Wake();
    }

    /// <summary>A queue is in a call, or there are flushes to hold.</summary>
    public void OnActivity()
    {
        if (Volatile.Read(ref _isParked) != 0 && Interlocked.Exchange(ref _isParked, 0) != 0)
            _body.Wake();
    }

    /// <summary>Sets a deadline of a few milliseconds, at which <see cref="ResponseOutput.Uncork"/> is called.</summary>
    /// <returns>Whether that will be done; if not, nothing may be held.</returns>
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

    /// <summary>Looks at all queues and deadlines once. For one thread at a time.</summary>
    /// <returns>What there was.</returns>
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
                _log.ServerFailed(exception);
            }

            result.IsInCall |= watched.Call != 0;
        }

        result.HadDeadlines = UncorkOverdue();
        _coldStart.EndIfLate();
        result.IsInCall |= _coldStart.IsFirstRunning;
        _workers.OnLooked();
        return result;
    }

    /// <returns>The calls since the last look.</returns>
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
            // Many short calls: what the first of them wrote need not wait for the last.
            if (call != 0 && watched.Call != 0 && batch == watched.Batch)
                queue.Output?.FlushNow();
            watched.Call = call;
            watched.Batch = batch;
            watched.Looks = 0;
            watched.ProcessorTime = call == 0 ? -1 : queue.Probe?.ProcessorTime ?? -1;
            return calls;
        }

        watched.Looks++;
        var isKept = IsKept(watched);
        if (isKept && TakesQueues && TryTake(queue, call))
            watched.Call = 0;
        else if (isKept || watched.Looks >= MaxLooks)
            Uncork(queue, call);
        return calls;
    }

    /// <summary>Whether the application has the thread sleep or compute, rather than wait for a processor.</summary>
    private static bool IsKept(Watched watched)
    {
        var probe = watched.Queue.Probe;
        var processorTime = probe?.ProcessorTime ?? -1;
        var hasComputed = watched.ProcessorTime >= 0 && processorTime - watched.ProcessorTime >= ComputingNanoseconds;
        return hasComputed || (probe?.IsSleeping ?? watched.Looks >= MaxLooks);
    }

    private bool TryTake(RunQueue queue, long call)
    {
        if (!queue.TryGetCall(call, out var response))
            return true;

        var output = queue.Output;
        var path = queue.Path;
        if (!_workers.TryReserve())
            return false;

        if (!queue.TryTake(call))
        {
            _workers.Release();
            return true;
        }

        Interlocked.Increment(ref _handOverCount);
        if (response is not null)
            _predictor.OnStalled(path);
        _workers.Run(queue);
        response?.Uncork();
        output?.FlushNow();
        _workers.EnsureSpare();
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

    /// <returns>Whether there was any.</returns>
    private bool UncorkOverdue()
    {
        lock (_lock)
            (_corked, _overdue) = (_overdue, _corked);

        foreach (var response in _overdue)
        {
            try
            {
                response.Uncork();
            }
            catch (Exception exception)
            {
                _log.ServerFailed(exception);
            }
        }

        var hadAny = _overdue.Count > 0;
        _overdue.Clear();
        return hadAny;
    }

    /// <summary>Says whether deadlines are kept; whoever ends that looks once more.</summary>
    private void SetDeadlines(bool areKept)
    {
        lock (_lock)
            _hasDeadlines = areKept;
    }

    private TimeSpan? Step()
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
        _quietLooks = result.IsActive ? 0 : _quietLooks + 1;
        if (_quietLooks >= QuietLooksBeforePark && TryPark())
            return Timeout.InfiniteTimeSpan;

        return result.Calls >= BusyCalls || result.IsInCall ? ShortInterval : s_longInterval;
    }

    private bool TryPark()
    {
        _quietLooks = 0;
        SetDeadlines(false);
        Volatile.Write(ref _isParked, 1);
        // Calls begin with a plain write and then look whether we are parked. With this barrier on all processors, either they see that
        // we are, or we see the call; without it, the price is theirs.
        _platform.SetBarrierForAllThreads();
        return !Look().IsActive && !Volatile.Read(ref _isStopping);
    }

    /// <summary>What a look has found.</summary>
    public struct LookResult
    {
        /// <summary>The calls since the last look.</summary>
        public long Calls;

        /// <summary>Whether the application is being called.</summary>
        public bool IsInCall;

        /// <summary>Whether there were responses to uncork.</summary>
        public bool HadDeadlines;

        /// <summary>Whether there was anything.</summary>
        public readonly bool IsActive => Calls > 0 || IsInCall || HadDeadlines;
    }

    private sealed class Body(StallWatchdog watchdog) : ThreadBody
    {
        public override TimeSpan? Step() => watchdog.Step();
    }

    private sealed class Watched(RunQueue queue)
    {
        public RunQueue Queue => queue;

        public long Call { get; set; }

        public long CallCount { get; set; }

        public long Batch { get; set; }

        public long ProcessorTime { get; set; } = -1;

        public int Looks { get; set; }
    }
}
