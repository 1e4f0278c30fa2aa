using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Lets the first request run before all others: it builds what they share, such as the route table. Otherwise hundreds of requests would await
/// it after a restart and resume on the thread pool, in handlers that may block.
/// </summary>
internal sealed class ColdStart(WorkerPool workers, TimeProvider time)
{
    private const int Cold = 0;
    private const int FirstIsRunning = 1;
    private const int Warm = 2;

    // A first request that takes longer is waiting for something of its own.
    private static readonly TimeSpan s_maxTime = TimeSpan.FromMilliseconds(500);

    private readonly ConcurrentQueue<FastCgiRequest> _early = new();
    private int _state;
    private long _startedAt;

    public bool IsFirstRunning => Volatile.Read(ref _state) == FirstIsRunning;

    /// <returns>Whether the request may run now. If not, it was queued because the first one is running.</returns>
    public bool TryPass(FastCgiRequest request)
    {
        if (Volatile.Read(ref _state) == Warm)
            return true;

        if (Interlocked.CompareExchange(ref _state, FirstIsRunning, Cold) == Cold)
        {
            Volatile.Write(ref _startedAt, time.GetTimestamp());
            return true;
        }

        _early.Enqueue(request);
        if (Volatile.Read(ref _state) == Warm)
            RunEarly();
        return false;
    }

    /// <summary>Called when any request has returned, finished or not.</summary>
    public void OnReturned()
    {
        if (Volatile.Read(ref _state) != Warm)
            End();
    }

    public void EndIfLate()
    {
        if (IsFirstRunning && Volatile.Read(ref _startedAt) is > 0 and var startedAt && time.GetElapsedTime(startedAt) > s_maxTime)
            End();
    }

    public void End()
    {
        Volatile.Write(ref _state, Warm);
        // A thread that queues a request after we found none must see the write.
        Interlocked.MemoryBarrier();
        RunEarly();
    }

    private void RunEarly()
    {
        while (_early.TryDequeue(out var request))
            workers.RunBlocking(request);
    }
}
