using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Decides where a request is executed: on the loop's own thread, on one of its own, or on the thread pool.</summary>
internal sealed class ApplicationScheduler
{
    private readonly FastCgiApplicationScheduling _scheduling;
    private readonly SlowPathPredictor _predictor = new();
    private readonly ColdStart _coldStart;

    public ApplicationScheduler(FastCgiTransportOptions options, ILogger log)
    {
        _scheduling = options.ApplicationScheduling;
        Threads = new ApplicationThreads(options.MaxApplicationThreads, _predictor, log);
        _coldStart = new ColdStart(Threads);
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
            Watchdog = new LoopWatchdog(loops, Threads, _predictor, _coldStart);
            Watchdog.Start();
        }
    }

    /// <summary>Stops to look after the loops.</summary>
    public void Stop()
    {
        Watchdog?.Stop();
        _coldStart.End();
        Threads.Stop();
    }

    /// <summary>A loop calls the application.</summary>
    public void OnActivity() => Watchdog?.OnActivity();

    /// <summary>The application has returned to a loop.</summary>
    public void OnReturned() => _coldStart.OnReturned();

    /// <summary>Gives a request to another thread, if it is not for the loop's own.</summary>
    /// <returns>Whether it was.</returns>
    public bool TryDispatch(FastCgiRequest request)
    {
        if (_scheduling == FastCgiApplicationScheduling.ThreadPool)
        {
            ThreadPool.UnsafeQueueUserWorkItem(request, preferLocal: false);
            return true;
        }

        if (_scheduling == FastCgiApplicationScheduling.Auto && !_coldStart.TryPass(request))
            return true;

        if (!_predictor.IsLearned || !_predictor.IsSlow(request.PathHash))
            return false;

        Threads.Run(request);
        return true;
    }
}
