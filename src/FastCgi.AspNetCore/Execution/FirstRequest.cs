namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The first request, which runs alone, because it creates shared state, such as the route table. Otherwise, after a
/// restart, hundreds of requests would await that, and resume on the thread pool in handlers that may block.
/// </summary>
internal sealed class FirstRequest
{
    private const int Over = -1;

    // After this many samples of one millisecond in which it slept or computed, the first request is waiting for its
    // own data, not initializing shared state. If it only waits for a processor, others would compete for it.
    private const int MaxSamples = 500;

    // The samples of the request, from 1; 0 before it begins, and Over after its end.
    private int _samples;

    // The thread that runs it, for the watchdog.
    private ThreadProbe? _thread;
    private long _processorTime;

    public bool IsOver => Volatile.Read(ref _samples) == Over;

    /// <summary>Whether it is running. Requests that need a thread wait for it.</summary>
    public bool IsRunning => Volatile.Read(ref _samples) > 0;

    /// <returns>Whether the caller's request is the first.</returns>
    public bool TryBegin(ThreadProbe? thread)
    {
        if (Interlocked.CompareExchange(ref _samples, 1, 0) != 0)
            return false;

        Volatile.Write(ref _thread, thread);
        return true;
    }

    public void End() => Volatile.Write(ref _samples, Over);

    /// <summary>Counts a sample of the watchdog. The request counts as over after too many.</summary>
    public void OnSampled()
    {
        var samples = Volatile.Read(ref _samples);
        if (samples <= 0 || !HasRun())
            return;

        // It may end at the same time.
        Interlocked.CompareExchange(ref _samples, samples == MaxSamples ? Over : samples + 1, samples);
    }

    /// <summary>Whether the request has slept or used a processor since the previous sample.</summary>
    private bool HasRun()
    {
        if (Volatile.Read(ref _thread) is not { IsSleeping: false } thread)
            return true;

        var before = _processorTime;
        _processorTime = thread.ProcessorTime;
        return _processorTime != before;
    }
}
