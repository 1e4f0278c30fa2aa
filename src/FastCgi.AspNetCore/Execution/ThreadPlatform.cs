namespace FastCgi.AspNetCore.Execution;

/// <summary>What the room for running the application needs of the system's threads; tests have threads of their own.</summary>
internal abstract class ThreadPlatform
{
    /// <summary>
    /// Whether the threads that the system still gives are to be left to .NET, which ends the process when its thread pool cannot start one. Asked
    /// before a thread is started for a handler.
    /// </summary>
    public virtual bool AreThreadsScarce => false;

    /// <summary>Starts a thread.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="body">What it does.</param>
    /// <exception cref="OutOfMemoryException">The system has no thread left.</exception>
    public abstract void Start(string name, ThreadBody body);

    /// <summary>Runs a body on the thread pool, where the system gives no thread of its own.</summary>
    public abstract void StartOnThreadPool(ThreadBody body);

    /// <summary>Lets other threads see what this thread is doing.</summary>
    /// <returns><see langword="null"/> where the system does not tell.</returns>
    public abstract ThreadProbe? ProbeThisThread();

    /// <summary>What this thread has used so far.</summary>
    public abstract ThreadUsage GetUsageOfThisThread();

    /// <summary>Waits a little on this thread, which an application may have interrupted.</summary>
    public virtual void Pause(TimeSpan time)
    {
        try
        {
            Thread.Sleep(time);
        }
        catch (ThreadInterruptedException)
        {
            // The handler that was meant is over.
        }
    }

    /// <summary>A memory barrier on all processors, so that other threads need none.</summary>
    public virtual void SetBarrierForAllThreads() => Interlocked.MemoryBarrierProcessWide();
}

/// <summary>What a thread of the platform does, step by step.</summary>
internal abstract class ThreadBody
{
    // Not worth an event: whoever waits for so short a time needs no wake-up.
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMilliseconds(10);

    // Never disposed: a wake-up may come at any time. It has no handle of the system as long as nobody waits for that.
    private readonly ManualResetEventSlim _wake = new();

    /// <summary>Whether a wake-up has come and was not taken.</summary>
    public bool IsWoken => _wake.IsSet;

    /// <summary>Does what there is to do now.</summary>
    /// <returns>
    /// How long to wait for a wake-up before the next step; zero for not at all, <see langword="null"/> if the thread is at its end.
    /// </returns>
    public abstract TimeSpan? Step();

    /// <summary>Ends the wait before the next step. Any thread may call it, at any time.</summary>
    public void Wake() => _wake.Set();

    /// <summary>Takes the wake-up that has come. Whatever it was about is seen by the next step.</summary>
    public void TakeWake() => _wake.Reset();

    /// <summary>Waits between two steps.</summary>
    public void Wait(TimeSpan time)
    {
        if (time == TimeSpan.Zero)
            return;

        if (time > TimeSpan.Zero && time <= s_shortWait)
        {
            Thread.Sleep(time);
            return;
        }

        _wake.Wait(time);
        TakeWake();
    }
}

/// <summary>Shows what a thread is doing to other threads.</summary>
/// <param name="getProcessorTime">See <see cref="ProcessorTime"/>.</param>
/// <param name="getIsSleeping">See <see cref="IsSleeping"/>.</param>
internal sealed class ThreadProbe(Func<long> getProcessorTime, Func<bool?> getIsSleeping)
{
    /// <summary>The nanoseconds that the thread has had a processor; -1 where the system does not tell.</summary>
    public long ProcessorTime => getProcessorTime();

    /// <summary>Whether the thread sleeps, rather than runs or waits for a processor; <see langword="null"/> where the system does not tell.</summary>
    public bool? IsSleeping => getIsSleeping();
}

/// <summary>What a thread has used so far.</summary>
/// <param name="Microseconds">Of a processor.</param>
/// <param name="Sleeps">How often it gave the processor up by itself.</param>
internal readonly record struct ThreadUsage(long Microseconds, long Sleeps)
{
    private const long KeptMicroseconds = 500;

    /// <summary>Whether the thread slept or computed since. Wall time would be fooled by a machine that is busy.</summary>
    public bool HasKeptThread(ThreadUsage before) => Sleeps > before.Sleeps || Microseconds - before.Microseconds > KeptMicroseconds;
}
