namespace FastCgi.AspNetCore.Execution;

/// <summary>A thread of our own: it runs a queue, executes one request that is likely to keep it, or is idle.</summary>
internal sealed class Worker(WorkerPool pool, RequestScheduler scheduler) : ThreadBody
{
    /// <summary>How long an idle thread stays for the next burst.</summary>
    public static readonly TimeSpan IdleTime = TimeSpan.FromSeconds(20);

    private RunQueue? _nextQueue;
    private FastCgiRequest? _nextRequest;
    private bool _hasStarted;
    private bool _isIdle;

    /// <summary>Whether it is a borrowed pool thread, which must not idle here.</summary>
    public bool IsGuest { get; init; }

    /// <summary>Gives the thread work. The caller must wake an idle thread.</summary>
    public void Assign(RunQueue? queue, FastCgiRequest? request)
    {
        _nextQueue = queue;
        _nextRequest = request;
    }

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
            // Either it was idle for long enough, or the work that it was woken for is just being assigned.
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
        // A thread that takes the queue makes a reservation for the thread that loses it.
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
