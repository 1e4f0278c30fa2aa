namespace FastCgi.AspNetCore.Execution;

/// <summary>Samples the workers while they call the application, and gives loops and seats to other threads.</summary>
/// <remarks>
/// A thread that sleeps or computes in the same call at two samples loses its loop; its seat, only if it sleeps or has
/// computed for several samples. If it only waits for a processor, it keeps both. Output that a call or an awaiting
/// handler holds back is soon sent. The watchdog takes no lock of a request or connection, and does not send.
/// </remarks>
internal sealed class StallWatchdog(
    WorkerPool workers, PathPredictor predictor, ThreadPlatform platform, TimeProvider time, ILogger log) : ThreadBody
{
    public static readonly TimeSpan ShortInterval = TimeSpan.FromMilliseconds(1);

    // After this many further samples in the same call, its output is sent, and a thread of unknown state is asleep.
    private const int MaxRepeats = 3;

    // A handler that computes for longer shares the processors with others, as it would on any server.
    private const int MaxRepeatsWithSeat = 10;

    // A thread that only waits for a processor may use this much between two samples.
    private const long ComputingNanoseconds = 200_000;

    // Fewer calls between two samples are light load, for which a longer interval is enough.
    private const long BusyCalls = 8;
    private const int QuietSamplesBeforePark = 50;

    // For less frequent flushes, sampling costs more than it saves.
    private static readonly TimeSpan s_maxTimeBetweenFlushes = TimeSpan.FromMilliseconds(2);

    private static readonly TimeSpan s_longInterval = TimeSpan.FromMilliseconds(4);

    private readonly List<Worker> _watched = [];
    private readonly Lock _lock = new();
    // Guarded by the lock.
    private readonly List<FastCgiResponse> _corked = [];
    private bool _hasDeadlines;

    private bool _isStopping;
    private int _isParked;
    private int _quietSamples;
    private long _lastFlush;
    private long _handOverCount;

    /// <summary>Whether the next sample waits for <see cref="OnActivity"/>.</summary>
    public bool IsParked => Volatile.Read(ref _isParked) != 0;
    public long HandOverCount => Volatile.Read(ref _handOverCount);

    public void Start()
    {
        SetDeadlines(true);
        platform.Start("FastCgi watchdog", this);
    }

    /// <summary>Stops sampling. It may be called more than once, and at any time.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Called when a thread enters a call, or when there are flushes to hold.</summary>
    public void OnActivity()
    {
        if (Volatile.Read(ref _isParked) != 0 && Interlocked.Exchange(ref _isParked, 0) != 0)
            Wake();
    }

    /// <summary>Schedules a call of <see cref="FastCgiResponse.Uncork"/> within a few milliseconds.</summary>
    /// <returns>Whether it is scheduled. If not, output must not be held.</returns>
    public bool TrySetDeadline(FastCgiResponse response)
    {
        using (_lock.Acquire())
        {
            if (_hasDeadlines)
            {
                _corked.Add(response);
                return true;
            }
        }

        var now = time.GetTimestamp();
        if (time.GetElapsedTime(Volatile.Read(ref _lastFlush), now) <= s_maxTimeBetweenFlushes)
            OnActivity();
        Volatile.Write(ref _lastFlush, now);
        return false;
    }

    /// <summary>Samples all threads and deadlines once. Only one thread at a time may call it.</summary>
    public SampleResult Sample()
    {
        var result = new SampleResult();
        _watched.Clear();
        workers.GetWatched(_watched);
        foreach (var worker in _watched)
        {
            try
            {
                Sample(worker, ref result);
            }
            catch (Exception exception)
            {
                log.ServerFailed(exception);
            }
        }

        result.HadDeadlines = UncorkOverdue();
        result.IsInCall |= workers.First.IsRunning;
        result.HasWaiting = workers.OnSampled(workers.HasComputing ? _watched.Count(IsLoopRunning) : 0);
        return result;
    }

    private static bool IsLoopRunning(Worker worker)
        => worker.Loop is not null
            && !(worker.Probe?.IsSleeping ?? (worker.CurrentCall == 0 || worker.Seen.Repeats >= MaxRepeats));

    private void Sample(Worker worker, ref SampleResult result)
    {
        var seen = worker.Seen;
        // The batch is the thread's own only while it owns the loop.
        var loop = worker.Loop;
        var batch = loop?.Batch ?? 0;
        var call = worker.CurrentCall;
        var callCount = worker.CallCount;
        result.Calls += callCount - seen.CallCount;
        seen.CallCount = callCount;
        result.IsInCall |= call != 0;
        if (call == 0 || call != seen.Call)
        {
            // In a batch of many short calls, the output of the first must not wait for the last.
            if (call != 0 && seen.Call != 0 && loop is not null && batch == seen.Batch)
                Release(response: null, loop.Output);
            seen.Call = call;
            seen.Batch = batch;
            seen.Repeats = 0;
            seen.ProcessorTime = call == 0 ? -1 : worker.Probe?.ProcessorTime ?? -1;
            return;
        }

        seen.Repeats++;
        var isSleeping = IsSleeping(worker);
        var isKept = isSleeping || HasComputed(worker);
        if (isKept && TryTake(worker, call, isSleeping))
            return;

        if (isKept || seen.Repeats >= MaxRepeats)
            Release(worker.GetResponse(), loop?.Output);
    }

    private static bool IsSleeping(Worker worker) => worker.Probe?.IsSleeping ?? worker.Seen.Repeats >= MaxRepeats;

    private static bool HasComputed(Worker worker)
    {
        var processorTime = worker.Probe?.ProcessorTime ?? -1;
        return worker.Seen.ProcessorTime >= 0 && processorTime - worker.Seen.ProcessorTime >= ComputingNanoseconds;
    }

    private bool TryTake(Worker worker, long call, bool isSleeping)
    {
        var hadLoop = Worker.GetPermit(call) == Permit.Loop;
        if (!hadLoop && !isSleeping && worker.Seen.Repeats < MaxRepeatsWithSeat)
            return false;

        var (path, response, output) = (worker.Path, worker.GetResponse(), worker.Loop?.Output);
        var taken = call;
        var permit = hadLoop && !isSleeping ? Permit.Seat : Permit.Thread;
        if (!workers.TryTake(worker, ref taken, path.IsPath ? permit : Permit.Server))
            return false;

        worker.Seen.Call = taken;
        worker.Seen.Repeats = 0;
        if (hadLoop)
            Interlocked.Increment(ref _handOverCount);
        // A thread that computes may be compiling. Its behavior is known only when it returns.
        if (isSleeping && path.IsPath)
            predictor.OnStalled(path);
        Release(response, hadLoop ? output : null);
        return true;
    }

    private bool UncorkOverdue()
    {
        List<FastCgiResponse> overdue;
        using (_lock.Acquire())
        {
            if (_corked.Count == 0)
                return false;

            // Most responses have ended since and have no output left, so no thread is woken for them.
            overdue = _corked.FindAll(static response => !response.HasEnded);
            _corked.Clear();
        }

        if (overdue.Count == 0)
            return true;

        workers.Run(
            new WorkItem(Action: () =>
            {
                foreach (var response in overdue)
                    ThreadRoot.Run(response, static response => response.Uncork(), log);
            }),
            Permit.None);
        return true;
    }

    private void Release(FastCgiResponse? response, RecordOutput? output)
    {
        if (response is null && output is null)
            return;

        workers.Run(
            new WorkItem(Action: () =>
            {
                response?.Uncork();
                output?.FlushNow();
            }),
            Permit.None);
    }

    /// <summary>Sets whether deadlines are accepted. A caller that disables them must uncork once more.</summary>
    private void SetDeadlines(bool areKept)
    {
        using (_lock.Acquire())
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
        var result = Sample();
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
        // A call starts with a plain write, then checks whether we are parked. With this barrier on all processors,
        // either that thread sees that we are, or we see the call. Without it, each call would need a barrier.
        platform.SetBarrierForAllThreads();
        return !Sample().IsActive && !Volatile.Read(ref _isStopping);
    }

    public struct SampleResult
    {
        public long Calls;
        public bool IsInCall;
        public bool HadDeadlines;
        public bool HasWaiting;
        public readonly bool IsActive => Calls > 0 || IsInCall || HadDeadlines || HasWaiting;
    }
}
