using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// The threads of the epoll engine. One is always spare, and whoever takes the last spare thread starts another, so that a burst of
/// handlers that block finds a thread each at once: a thread pool that grows by one or two a second is what makes a site stand still.
/// Requests beyond the most threads wait; loops never do.
/// </summary>
internal sealed class ApplicationThreads(int maxCount, SlowPathPredictor predictor)
{
    private readonly Lock _lock = new();
    private readonly List<ApplicationThread> _idle = [];
    private readonly Queue<FastCgiRequest> _waiting = new();
    private int _count;
    private bool _isStarting;
    private bool _isStopping;

    /// <summary>Gives a loop a thread.</summary>
    public void Run(EpollLoop loop)
    {
        if (TryTakeIdle() is { } idle)
        {
            idle.Assign(loop, request: null);
            return;
        }

        lock (_lock)
            _count++;
        new ApplicationThread(this).Start(loop);
    }

    /// <summary>Gives a request a thread.</summary>
    public void Run(FastCgiRequest request)
    {
        ApplicationThread? idle;
        lock (_lock)
        {
            idle = TakeIdle();
            if (idle is null)
                _waiting.Enqueue(request);
        }

        if (idle is null)
            EnsureSpare();
        else
            idle.Assign(loop: null, request);
    }

    /// <summary>Executes a request, and notes whether it kept its thread.</summary>
    public void Execute(FastCgiRequest request)
    {
        EnsureSpare();
        var path = request.PathHash;
        var before = ThreadUsage.OfThisThread();
        request.Execute();
        predictor.OnExecuted(path, ThreadUsage.OfThisThread().HasKeptThread(before));
    }

    /// <summary>Starts a thread if none is spare.</summary>
    public void EnsureSpare()
    {
        lock (_lock)
        {
            if (_idle.Count > 0 || _isStarting || _isStopping || _count >= maxCount)
                return;

            _isStarting = true;
            _count++;
        }

        new ApplicationThread(this).Start(loop: null);
    }

    /// <summary>A new thread has begun.</summary>
    public void OnStarted()
    {
        lock (_lock)
            _isStarting = false;
    }

    /// <summary>A thread has nothing to do.</summary>
    /// <returns>A request that waits for a thread; <see langword="null"/> if there is none, and the thread is idle now.</returns>
    public FastCgiRequest? OnIdle(ApplicationThread thread)
    {
        lock (_lock)
        {
            if (_waiting.TryDequeue(out var request))
                return request;

            _idle.Add(thread);
            return null;
        }
    }

    /// <summary>A thread has been idle for long.</summary>
    /// <returns>Whether it may end.</returns>
    public bool TryRetire(ApplicationThread thread)
    {
        lock (_lock)
        {
            if ((_idle.Count == 1 && !_isStopping) || !_idle.Remove(thread))
                return false;

            _count--;
            return true;
        }
    }

    /// <summary>Lets the idle threads end, and the others when they become idle.</summary>
    public void Stop()
    {
        List<ApplicationThread> idle;
        lock (_lock)
        {
            _isStopping = true;
            idle = [.. _idle];
        }

        foreach (var thread in idle)
            thread.Wake();
    }

    private ApplicationThread? TryTakeIdle()
    {
        lock (_lock)
            return TakeIdle();
    }

    /// <summary>The thread that has become idle last, whose stack and caches are warm.</summary>
    private ApplicationThread? TakeIdle()
    {
        if (_idle.Count == 0)
            return null;

        var thread = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        return thread;
    }
}
