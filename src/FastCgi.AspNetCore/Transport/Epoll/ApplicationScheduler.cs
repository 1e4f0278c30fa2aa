using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Decides where a request is executed: on the loop's own thread, on one of its own, or on the thread pool.</summary>
internal sealed class ApplicationScheduler
{
    // Whoever waits on the pool for less has met a lock, or the garbage collector.
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMilliseconds(1);

    private readonly FastCgiApplicationScheduling _scheduling;
    private readonly PathPredictor _predictor = new();
    private readonly ColdStart _coldStart;
    private readonly Action<FastCgiRequest> _executePooled;

    public ApplicationScheduler(FastCgiTransportOptions options, ILogger log)
    {
        _scheduling = options.ApplicationScheduling;
        Threads = new ApplicationThreads(options.MaxApplicationThreads, _predictor, log);
        _coldStart = new ColdStart(Threads);
        // The pool has few threads: a handler that blocks there gets one of ours before long.
        _executePooled = request => _predictor.Execute(request, s_shortWait);
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
    /// <param name="pathHash">The path of the request.</param>
    /// <param name="isAwaiting">Whether it goes on later.</param>
    public void OnReturned(int pathHash, bool isAwaiting)
    {
        _coldStart.OnReturned();
        _predictor.OnReturned(pathHash, isAwaiting);
    }

    /// <summary>Gives a request to another thread, if it is not for the loop's own.</summary>
    /// <returns>Whether it was.</returns>
    public bool TryDispatch(FastCgiRequest request, int pathHash)
    {
        if (_scheduling == FastCgiApplicationScheduling.ThreadPool)
        {
            request.RunLater();
            return true;
        }

        if (_scheduling == FastCgiApplicationScheduling.Inline)
            return false;
        if (!_coldStart.TryPass(request))
            return true;

        switch (_predictor.Predict(pathHash))
        {
            case PathBehaviour.KeepsThread:
                Threads.Run(request);
                return true;
            case PathBehaviour.Awaits:
                // It would be back there anyway: to begin there too keeps the pool's threads at work rather than on the look-out for it.
                ThreadRoot.Queue(request, _executePooled, request.Log);
                return true;
            default:
                return false;
        }
    }
}
