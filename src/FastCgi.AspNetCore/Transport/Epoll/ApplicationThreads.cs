using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// The threads of the epoll engine. One is always spare, and whoever takes the last spare thread starts another, so that a burst of
/// handlers that block finds a thread each at once: a thread pool that grows by one or two a second is what makes a site stand still.
/// While requests wait, several are started at once. Requests beyond the most threads wait; loops never do.
/// </summary>
internal sealed class ApplicationThreads(int maxCount, PathPredictor predictor, ILogger log)
{
    // More at once only wait for each other: the system makes the threads of a process one by one.
    private const int MaxStartsAtOnce = 16;

    private readonly Lock _lock = new();
    private readonly List<ApplicationThread> _idle = [];
    private readonly Queue<EpollLoop> _waitingLoops = new();
    private readonly Queue<FastCgiRequest> _waitingRequests = new();
    private int _count;
    private int _startingCount;
    private bool _isStopping;

    /// <summary>Gives a loop a thread.</summary>
    public void Run(EpollLoop loop)
    {
        ApplicationThread? idle;
        lock (_lock)
        {
            idle = TakeIdle(loop, request: null);
            if (idle is null)
            {
                _waitingLoops.Enqueue(loop);
                _startingCount++;
                _count++;
            }
        }

        if (idle is null)
            Start();
        else
            idle.Wake();
    }

    /// <summary>Gives a request a thread.</summary>
    public void Run(FastCgiRequest request)
    {
        ApplicationThread? idle;
        bool isThreadComing;
        lock (_lock)
        {
            idle = TakeIdle(loop: null, request);
            if (idle is null)
                _waitingRequests.Enqueue(request);
            isThreadComing = _startingCount > 0;
        }

        // To start a thread takes its time, and this may be a loop: it leaves that to the threads that are starting.
        if (idle is not null)
            idle.Wake();
        else if (!isThreadComing)
            EnsureSpare();
    }

    /// <summary>Executes a request, and notes whether it kept its thread.</summary>
    public void Execute(FastCgiRequest request)
    {
        EnsureSpare();
        predictor.Execute(request, TimeSpan.Zero);
    }

    /// <summary>Starts a thread if none is spare, unless as many are starting as are wanted.</summary>
    public void EnsureSpare()
    {
        lock (_lock)
        {
            var wanted = Math.Clamp(_waitingRequests.Count, 1, MaxStartsAtOnce);
            if (_idle.Count > 0 || _startingCount >= wanted || _isStopping || _count >= maxCount)
                return;

            _startingCount++;
            _count++;
        }

        Start();
    }

    /// <summary>A new thread has begun.</summary>
    public void OnStarted()
    {
        lock (_lock)
            _startingCount--;
    }

    /// <summary>Gives a thread that has nothing to do what waits for a thread.</summary>
    /// <returns>Whether anything did; if not, the thread is idle now.</returns>
    public bool TryFindWork(ApplicationThread thread)
    {
        lock (_lock)
        {
            FastCgiRequest? request = null;
            if (!_waitingLoops.TryDequeue(out var loop) && !_waitingRequests.TryDequeue(out request))
            {
                _idle.Add(thread);
                return false;
            }

            thread.Assign(loop, request);
            return true;
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

    /// <summary>Starts a thread that was counted. If the system has none left, what waits is for those that there are.</summary>
    private void Start()
    {
        try
        {
            new ApplicationThread(this).Start();
        }
        catch (OutOfMemoryException exception)
        {
            int count;
            lock (_lock)
            {
                _startingCount--;
                count = --_count;
            }

            log.ThreadsOutOfResources(count, exception);
        }
    }

    /// <summary>Gives work to the thread that has become idle last, whose stack and caches are warm.</summary>
    private ApplicationThread? TakeIdle(EpollLoop? loop, FastCgiRequest? request)
    {
        if (_idle.Count == 0)
            return null;

        var thread = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        thread.Assign(loop, request);
        return thread;
    }
}
