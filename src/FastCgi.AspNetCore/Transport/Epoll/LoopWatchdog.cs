using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// Looks at the loops every millisecond while they work, and sleeps while they do not. A loop that is found in the same call of the
/// application again, on a thread that sleeps, or that computes, is given to another thread with the rest of its batch; one that
/// merely waits for the processor is left alone. It looks after held flushes too.
/// </summary>
internal sealed class LoopWatchdog
{
    private static readonly TimeSpan s_shortInterval = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan s_longInterval = TimeSpan.FromMilliseconds(4);

    // Fewer calls than this between two looks are little load, for which looking less often is enough.
    private const long BusyCalls = 8;
    private const int QuietLooksBeforePark = 50;

    private readonly IReadOnlyList<EpollLoop> _loops;
    private readonly ApplicationThreads _threads;
    private readonly PathPredictor _predictor;
    private readonly ColdStart _coldStart;
    private readonly Seen[] _seen;
    private readonly AutoResetEvent _wake = new(initialState: false);
    private int _isParked;
    private bool _isStopping;

    public LoopWatchdog(IReadOnlyList<EpollLoop> loops, ApplicationThreads threads, PathPredictor predictor, ColdStart coldStart)
    {
        _loops = loops;
        _threads = threads;
        _predictor = predictor;
        _coldStart = coldStart;
        _seen = new Seen[loops.Count];
        HeldFlushes = new HeldFlushes(OnActivity);
    }

    /// <summary>The flushes that wait for the ends of their responses.</summary>
    public HeldFlushes HeldFlushes { get; }

    /// <summary>Begins to look.</summary>
    public void Start() => new Thread(Watch) { IsBackground = true, Name = "FastCgi watchdog" }.UnsafeStart();

    /// <summary>Ends it.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        _wake.Set();
    }

    /// <summary>A loop calls the application, or there are flushes to hold.</summary>
    public void OnActivity()
    {
        if (Volatile.Read(ref _isParked) != 0 && Interlocked.Exchange(ref _isParked, 0) != 0)
            _wake.Set();
    }

    private void Watch()
    {
        var quietLooks = 0;
        var interval = s_shortInterval;
        HeldFlushes.SetWatched(true);
        while (!Volatile.Read(ref _isStopping))
        {
            Thread.Sleep(interval);
            var calls = Look(out var isInCall);
            var wereHeld = HeldFlushes.SendOverdue() > 0;
            _coldStart.EndIfLate();
            isInCall |= _coldStart.IsFirstRunning;
            interval = calls >= BusyCalls || isInCall ? s_shortInterval : s_longInterval;
            quietLooks = calls > 0 || isInCall || wereHeld ? 0 : quietLooks + 1;
            if (quietLooks >= QuietLooksBeforePark)
                Park();
        }

        HeldFlushes.SetWatched(false);
        HeldFlushes.SendOverdue();
        _wake.Dispose();
    }

    private void Park()
    {
        HeldFlushes.SetWatched(false);
        Volatile.Write(ref _isParked, 1);
        // A loop that became active in this instant has not seen that it must wake us.
        if (Look(out var isInCall) + HeldFlushes.SendOverdue() == 0 && !isInCall && !Volatile.Read(ref _isStopping))
            _wake.WaitOne();
        Volatile.Write(ref _isParked, 0);
        HeldFlushes.SetWatched(true);
    }

    /// <returns>The calls of the application since the last look.</returns>
    private long Look(out bool isInCall)
    {
        var calls = 0L;
        isInCall = false;
        for (var i = 0; i < _loops.Count; i++)
        {
            calls += Look(_loops[i], ref _seen[i]);
            isInCall |= _seen[i].Call != 0;
        }

        return calls;
    }

    private long Look(EpollLoop loop, ref Seen seen)
    {
        var call = loop.CurrentCall;
        var callCount = loop.CallCount;
        var calls = callCount - seen.CallCount;
        seen.CallCount = callCount;
        if (call == 0 || call != seen.Call)
        {
            seen.Call = call;
            seen.ProcessorTime = -1;
            return calls;
        }

        if (IsKept(loop, ref seen))
            HandOver(loop, call);
        return calls;
    }

    /// <summary>Whether the application has the thread sleep or compute, rather than wait for a processor.</summary>
    private static bool IsKept(EpollLoop loop, ref Seen seen)
    {
        if (loop.Thread is not { } thread || !ThreadStatus.TryRead(thread.SystemId, out var status))
            return false;

        if (status.IsSleeping)
            return true;

        var hasComputed = seen.ProcessorTime >= 0 && status.ProcessorTime > seen.ProcessorTime;
        seen.ProcessorTime = status.ProcessorTime;
        return hasComputed;
    }

    private void HandOver(EpollLoop loop, long call)
    {
        var (response, generation) = loop.CurrentResponse;
        var path = loop.CurrentPathHash;
        if (!loop.TryTake(call))
            return;

        _predictor.OnLoopKept(path);
        response?.Uncork(generation);
        _threads.Run(loop);
    }

    private struct Seen
    {
        public long Call;
        public long CallCount;
        public long ProcessorTime;
    }
}
