using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// The threads of the epoll engine: an idle one, the last to become so, or a new one at once, for a thread pool that grows by one or
/// two a second is what makes a site with blocking handlers stand still. Requests beyond the most threads wait; loops never do.
/// </summary>
internal sealed class ApplicationThreads(int maxCount, SlowPathPredictor predictor)
{
    private readonly Lock _lock = new();
    private readonly List<ApplicationThread> _idle = [];
    private readonly Queue<FastCgiRequest> _waiting = new();
    private int _count;

    /// <summary>Gives a loop a thread.</summary>
    public void Run(EpollLoop loop) => Run(loop, request: null);

    /// <summary>Gives a request a thread.</summary>
    public void Run(FastCgiRequest request) => Run(loop: null, request);

    /// <summary>Executes a request, and notes whether it kept its thread.</summary>
    public void Execute(FastCgiRequest request)
    {
        var path = request.PathHash;
        var before = ThreadUsage.OfThisThread();
        request.Execute();
        predictor.OnExecuted(path, ThreadUsage.OfThisThread().HasKeptThread(before));
    }

    /// <summary>A thread has nothing to do.</summary>
    public void OnIdle(ApplicationThread thread)
    {
        FastCgiRequest? request;
        lock (_lock)
        {
            if (!_waiting.TryDequeue(out request))
            {
                _idle.Add(thread);
                return;
            }
        }

        thread.Assign(loop: null, request);
    }

    /// <summary>A request that waits for a thread.</summary>
    public FastCgiRequest? TryGetWaiting()
    {
        lock (_lock)
            return _waiting.TryDequeue(out var request) ? request : null;
    }

    /// <summary>A thread has been idle for long.</summary>
    /// <returns>Whether it may end.</returns>
    public bool TryRetire(ApplicationThread thread)
    {
        lock (_lock)
        {
            if (!_idle.Remove(thread))
                return false;

            _count--;
            return true;
        }
    }

    private void Run(EpollLoop? loop, FastCgiRequest? request)
    {
        ApplicationThread thread;
        lock (_lock)
        {
            if (_idle.Count > 0)
            {
                thread = _idle[^1];
                _idle.RemoveAt(_idle.Count - 1);
            }
            else if (request is not null && _count >= maxCount)
            {
                _waiting.Enqueue(request);
                return;
            }
            else
            {
                _count++;
                thread = new ApplicationThread(this);
                thread.Start(loop, request);
                return;
            }
        }

        thread.Assign(loop, request);
    }
}
