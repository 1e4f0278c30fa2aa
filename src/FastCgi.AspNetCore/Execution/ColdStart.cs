using System.Collections.Concurrent;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Runs the first request of an application alone. It makes what all need, such as the table of routes, and those that come
/// meanwhile would await it, and come back on the thread pool: hundreds at once after a restart, to handlers that may block.
/// </summary>
internal sealed class ColdStart(WorkerPool workers, TimeProvider time)
{
    private const int Cold = 0;
    private const int FirstIsRunning = 1;
    private const int Warm = 2;

    // A first request that is not back by then has something of its own to wait for.
    private static readonly TimeSpan s_maxTime = TimeSpan.FromMilliseconds(500);

    private readonly ConcurrentQueue<FastCgiRequest> _early = new();
    private int _state;
    private long _startedAt;

    /// <summary>Whether the first request is running.</summary>
    public bool IsFirstRunning => Volatile.Read(ref _state) == FirstIsRunning;

    /// <summary>Queues a request while the first one is running.</summary>
    /// <returns>Whether the request may run now; if not, it gets a thread later.</returns>
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

    /// <summary>A request has returned, finished or not.</summary>
    public void OnReturned()
    {
        if (Volatile.Read(ref _state) != Warm)
            End();
    }

    /// <summary>Queues nothing any longer if the first request takes too long.</summary>
    public void EndIfLate()
    {
        if (IsFirstRunning && Volatile.Read(ref _startedAt) is > 0 and var startedAt && time.GetElapsedTime(startedAt) > s_maxTime)
            End();
    }

    /// <summary>Queues nothing any longer.</summary>
    public void End()
    {
        Volatile.Write(ref _state, Warm);
        // The write must be seen by whoever queues a request after we found none.
        Interlocked.MemoryBarrier();
        RunEarly();
    }

    private void RunEarly()
    {
        while (_early.TryDequeue(out var request))
            workers.Run(request);
    }
}
