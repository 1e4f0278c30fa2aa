using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Execution;

/// <summary>A thread of the room. It goes on with a queue, or executes one request that is likely to keep it, or is idle.</summary>
internal sealed class Worker(WorkerPool pool, RequestScheduler scheduler) : ThreadBody
{
    /// <summary>How long a thread stays for the next burst.</summary>
    public static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(20);

    private RunQueue? _nextQueue;
    private FastCgiRequest? _nextRequest;
    private bool _hasStarted;
    private bool _isIdle;

    /// <summary>Whether it is a thread of the thread pool, which has better things to do than to be idle here.</summary>
    public bool IsGuest { get; init; }

    /// <summary>Gives the thread work. Whoever gives an idle thread work wakes it.</summary>
    public void Assign(RunQueue? queue, FastCgiRequest? request)
    {
        _nextQueue = queue;
        _nextRequest = request;
    }

    /// <inheritdoc/>
    public override TimeSpan? Step()
    {
        if (!_hasStarted)
        {
            _hasStarted = true;
            if (!IsGuest)
                pool.OnStarted();
        }

        if (RunNext())
            return TimeSpan.Zero;

        if (_isIdle)
        {
            // Either the time is over, or the work that it was woken for is only just being assigned.
            return pool.TryRetire(this) ? null : IdleTime;
        }

        if (pool.TryFindWork(this, out var isAtEnd))
            return TimeSpan.Zero;

        _isIdle = !isAtEnd;
        return isAtEnd ? null : IdleTime;
    }

    private bool RunNext()
    {
        var queue = _nextQueue;
        var request = _nextRequest;
        if (queue is null && request is null)
            return false;

        _isIdle = false;
        _nextQueue = null;
        _nextRequest = null;
        if (queue is not null)
            Run(queue);
        else
            Execute(request!);
        return true;
    }

    private void Run(RunQueue queue)
    {
        pool.CountQueues(1);
        // Whoever takes the queue makes a reservation for the thread that loses it.
        var isTaken = false;
        try
        {
            isTaken = !scheduler.Continue(queue);
        }
        finally
        {
            pool.CountQueues(-1);
            if (isTaken)
                pool.Release();
        }
    }

    private void Execute(FastCgiRequest request)
    {
        pool.EnsureSpare();
        try
        {
            scheduler.Execute(request);
        }
        finally
        {
            pool.Release();
        }
    }
}
