namespace FastCgi.AspNetCore.Execution;

/// <summary>The system's threads. This class works on any system, but cannot report the state of a thread.</summary>
internal class ThreadPlatform(ILogger log)
{
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    public virtual int ProcessorCount => Environment.ProcessorCount;

    /// <summary>The number of threads that handlers may block. The rest is reserved for .NET.</summary>
    public virtual int MaxHandlerThreads => int.MaxValue;

    /// <exception cref="OutOfMemoryException">The system has no thread left.</exception>
    public virtual void Start(string name, ThreadBody body) => ThreadRoot.Start(name, () => Run(body), log);

    /// <summary>Lets other threads query the state of this thread; null if the system cannot report it.</summary>
    public virtual ThreadProbe? ProbeThisThread() => null;

    /// <summary>Gets what this thread has used; null if it cannot be known now.</summary>
    /// <remarks>On a system that never reports it, all time counts as sleep.</remarks>
    public virtual ThreadUsage? GetUsageOfThisThread() => new(Processor: 0, GetPauses());

    /// <summary>Executes a memory barrier on all processors, so that other threads need none.</summary>
    public virtual void SetBarrierForAllThreads() => Interlocked.MemoryBarrierProcessWide();

    /// <summary>Logs a failure and waits, so that a repeated failure does not keep a processor busy.</summary>
    public virtual void OnFailed(Exception exception)
    {
        log.ServerFailed(exception);
        Wait(() => Thread.Sleep(s_pauseAfterFailure));
    }

    /// <returns>For how long garbage collections have paused all threads, in microseconds.</returns>
    protected static long GetPauses() => (long)GC.GetTotalPauseDuration().TotalMicroseconds;

    protected virtual void OnEnding()
    {
    }

    private void Run(ThreadBody body)
    {
        while (Step(body) is { } wait)
            Wait(() => body.Wait(wait));
        OnEnding();
    }

    private TimeSpan? Step(ThreadBody body)
    {
        try
        {
            return body.Step();
        }
        catch (Exception exception)
        {
            OnFailed(exception);
            return TimeSpan.Zero;
        }
    }

    private static void Wait(Action wait)
    {
        try
        {
            wait();
        }
        catch (ThreadInterruptedException)
        {
            // The application interrupted the thread of a handler that has already returned. Ignore it.
        }
    }
}

/// <summary>The work of a thread, step by step.</summary>
internal abstract class ThreadBody
{
    // For shorter waits, waking up early is not worth an event.
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMilliseconds(10);

    // With the default of 35, processors often idle while a thread wakes up; with 300, waiting takes too much of them.
    private const int SpinCount = 100;

    // Never disposed, because a wake-up may come at any time. It has no system handle.
    private readonly ManualResetEventSlim _wake = new(initialState: false, SpinCount);

    public bool IsWoken => _wake.IsSet;

    /// <returns>How long to wait for a wake-up before the next step; null to end the thread.</returns>
    public abstract TimeSpan? Step();

    /// <summary>Ends the wait before the next step. Any thread may call it, at any time.</summary>
    public void Wake() => Uninterrupted.Do(_wake, static wake => wake.Set());

    public void TakeWake() => _wake.Reset();

    public void Wait(TimeSpan time)
    {
        if (time > TimeSpan.Zero && time <= s_shortWait)
        {
            Thread.Sleep(time);
        }
        else if (time != TimeSpan.Zero)
        {
            _wake.Wait(time);
            TakeWake();
        }
    }
}

/// <summary>Reports the state of a thread to other threads.</summary>
internal sealed class ThreadProbe(Func<long> getProcessorTime, Func<bool?> getIsSleeping)
{
    public long ProcessorTime => getProcessorTime();

    /// <summary>Whether the thread sleeps, rather than runs or waits for a processor; null if unknown.</summary>
    public bool? IsSleeping => getIsSleeping();
}

/// <summary>What a thread has used since its start, in microseconds.</summary>
/// <param name="Processor">Its CPU time.</param>
/// <param name="Delayed">How long it waited for a processor or was paused by the garbage collector.</param>
/// <param name="Waits">How often it waited for anything else, such as a lock or a reply; null if unknown.</param>
internal readonly record struct ThreadUsage(long Processor, long Delayed, long? Waits = null);
