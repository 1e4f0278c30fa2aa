using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Decides where a request is executed: on the loop's own thread, on one of its own, or on the thread pool.</summary>
internal sealed class ApplicationScheduler
{
    private readonly FastCgiApplicationScheduling _scheduling;
    private readonly SlowPathPredictor _predictor = new();

    public ApplicationScheduler(FastCgiTransportOptions options)
    {
        _scheduling = options.ApplicationScheduling;
        Threads = new ApplicationThreads(options.MaxApplicationThreads, _predictor);
    }

    /// <summary>The threads.</summary>
    public ApplicationThreads Threads { get; }

    /// <summary>Looks after loops that the application keeps; <see langword="null"/> unless scheduling is Auto.</summary>
    public LoopWatchdog? Watchdog { get; private set; }

    /// <summary>Begins to look after the loops.</summary>
    public void Start(IReadOnlyList<EpollLoop> loops)
    {
        if (_scheduling == FastCgiApplicationScheduling.Auto)
        {
            Watchdog = new LoopWatchdog(loops, Threads, _predictor);
            Watchdog.Start();
        }
    }

    /// <summary>Stops to look after the loops.</summary>
    public void Stop()
    {
        Watchdog?.Stop();
        Threads.Stop();
    }

    /// <summary>A loop calls the application.</summary>
    public void OnActivity() => Watchdog?.OnActivity();

    /// <summary>Gives a request to another thread, if it is not for the loop's own.</summary>
    /// <returns>Whether it was.</returns>
    public bool TryDispatch(FastCgiRequest request)
    {
        if (_scheduling == FastCgiApplicationScheduling.ThreadPool)
        {
            ThreadPool.UnsafeQueueUserWorkItem(request, preferLocal: false);
            return true;
        }

        if (!_predictor.IsLearned || !_predictor.IsSlow(request.PathHash))
            return false;

        Threads.Run(request);
        return true;
    }
}
