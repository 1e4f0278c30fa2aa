using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Runs the application, for every engine. The transport hands over the requests that one receive made ready; they are run on its
/// thread, or on another that suits them better, and then what they wrote is sent.
/// </summary>
internal sealed class RequestScheduler : RequestRunner
{
    // Whoever waits on the thread pool for less has met a lock, or the garbage collector.
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMilliseconds(1);

    // What fails again and again must not keep a processor busy.
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    private readonly FastCgiApplicationScheduling _scheduling;
    private readonly ThreadPlatform _platform;
    private readonly ILogger _log;
    private readonly ColdStart _coldStart;
    private readonly Action<FastCgiRequest> _executeOnThreadPool;

    public RequestScheduler(FastCgiTransportOptions options, ThreadPlatform platform, TimeProvider time, ILogger log)
    {
        _scheduling = options.ApplicationScheduling;
        _platform = platform;
        _log = log;
        Predictor = new PathPredictor(platform, time);
        Workers = new WorkerPool(this, options.MaxBlockingThreads, options.LoopCount, platform, time, log);
        _coldStart = new ColdStart(Workers, time);
        Watchdog = new StallWatchdog(Workers, Predictor, _coldStart, platform, log) { TakesQueues = _scheduling == FastCgiApplicationScheduling.Auto };
        _executeOnThreadPool = ExecuteOnThreadPool;
    }

    /// <summary>The threads of the room.</summary>
    public WorkerPool Workers { get; }

    /// <summary>Watches the calls of the application.</summary>
    public StallWatchdog Watchdog { get; }

    /// <summary>Predicts what requests do.</summary>
    public PathPredictor Predictor { get; }

    /// <summary>Starts the threads.</summary>
    public void Start()
    {
        Watchdog.Start();
        if (_scheduling == FastCgiApplicationScheduling.Auto)
            Workers.EnsureSpare();
    }

    /// <summary>Runs requests at once, though no request has returned yet.</summary>
    public void EndColdStart() => _coldStart.End();

    /// <summary>
    /// The server stops: whatever the options say, a queue that the application stalls gets another thread, so that the rest can end.
    /// </summary>
    public void BeginStop()
    {
        Workers.BeginStop();
        Watchdog.BeginStop();
        _coldStart.End();
    }

    /// <summary>Ends the threads, when the connections are closed. It may be called more than once.</summary>
    public void Stop()
    {
        Watchdog.Stop();
        _coldStart.End();
        Workers.Stop();
    }

    /// <summary>Runs requests on other threads, for an engine whose thread receives, and sends what the server has written.</summary>
    /// <param name="ready">The requests; empty afterwards.</param>
    /// <param name="output">The outlet of their connection.</param>
    public void RunElsewhere(ref ReadyRequests ready, RecordOutput output)
    {
        while (!ready.IsEmpty)
            Run(ready.RemoveFirst());
        output.FlushNow();
        foreach (var report in ready.TakeReports())
            ThreadRoot.Queue(report, static report => report(), _log);
    }

    /// <summary>Runs a request that has waited for its turn, on another thread.</summary>
    public override void Run(FastCgiRequest request)
    {
        // What the server answers itself needs no thread of the application's, for which it would wait just when there is none.
        if (request.Rejection == RequestRejection.None && _scheduling == FastCgiApplicationScheduling.Auto && Predictor.KeepsThread(new PathKey(request.Path)))
            Workers.Run(request);
        else
            ExecuteLater(request);
    }

    /// <inheritdoc/>
    public override void Leave(FastCgiRequest request) => Workers.Leave(request);

    /// <summary>Continues with a queue, on a thread that owns it from now on, until it ends or is taken. Whatever fails, the queue keeps a thread.</summary>
    /// <returns>Whether it has ended; if not, it was taken, and this thread must not touch it any more.</returns>
    public bool Continue(RunQueue queue)
    {
        queue.Probe = GetProbe();
        while (true)
        {
            try
            {
                if (!RunBatch(queue))
                    return false;
                if (!queue.TryBeginNext())
                    return true;
            }
            catch (Exception exception)
            {
                OnFailed(exception);
                _platform.Pause(s_pauseAfterFailure);
            }
        }
    }

    /// <summary>Executes a request on a thread of its own.</summary>
    public void Execute(FastCgiRequest request)
    {
        var context = ExecutionContext.Capture();
        var synchronizationContext = SynchronizationContext.Current;
        Predictor.Execute(request, TimeSpan.Zero);
        Restore(context, synchronizationContext);
    }

    /// <summary>Runs the batch of a queue. An exception leaves it to the thread that owns it.</summary>
    /// <returns>Whether this thread still owns the queue; if not, another thread continues with it.</returns>
    public bool RunBatch(RunQueue queue)
    {
        if (queue.Output is not { } output)
            return true;

        while (!queue.IsEmpty)
        {
            var request = queue.RemoveFirst();
            // What the server ends itself needs no thread of the application's, for which it would wait just when there is none.
            var path = request is { Rejection: RequestRejection.None, HasLeft: false } ? new PathKey(request.Path) : default;
            if (!(path.IsPath && TryDispatch(request, path)) && !Call(queue, request, path, output))
                return false;
        }

        output.FlushNow();
        if (queue.TakeReports() is { Count: > 0 } reports && !Report(queue, reports))
            return false;

        queue.End();
        return true;
    }

    /// <summary>Log providers are code of the application too: one that blocks keeps the thread, and the queue is taken from it.</summary>
    /// <returns>Whether this thread still owns the queue.</returns>
    private bool Report(RunQueue queue, IReadOnlyList<Action> reports)
    {
        var call = queue.Enter(response: null, path: default);
        WakeWatchdog();
        foreach (var report in reports)
            ThreadRoot.Run(report, static report => report(), _log);
        return queue.TryLeave(call);
    }

    /// <returns>Whether this thread still owns the queue.</returns>
    private bool Call(RunQueue queue, FastCgiRequest request, PathKey path, RecordOutput output)
    {
        var response = request.Response.Output;
        response.Cork(sendsAtEnd: queue.IsEmpty);
        var context = ExecutionContext.Capture();
        var synchronizationContext = SynchronizationContext.Current;
        var call = queue.Enter(response, path);
        WakeWatchdog();
        var hasReturned = request.Execute();
        var isOurs = queue.TryLeave(call);
        // From here on nothing may throw: the caller would not know whose the queue is.
        try
        {
            if (!hasReturned)
                response.Yield();
            Restore(context, synchronizationContext);
            // The thread that took the queue may have sent before this request queued the last of its own.
            if (!isOurs)
                output.FlushNow();
            // Otherwise the application has not been called, and nothing is known of it.
            if (path.IsPath)
                _coldStart.OnReturned();
        }
        catch (Exception exception)
        {
            OnFailed(exception);
        }

        return isOurs;
    }

    private ThreadProbe? GetProbe()
    {
        try
        {
            return Watchdog.TakesQueues ? _platform.ProbeThisThread() : null;
        }
        catch (Exception exception)
        {
            OnFailed(exception);
            return null;
        }
    }

    private void WakeWatchdog()
    {
        try
        {
            Watchdog.OnActivity();
        }
        catch (Exception exception)
        {
            OnFailed(exception);
        }
    }

    private void OnFailed(Exception exception) => _log.ServerFailed(exception);

    /// <summary>Gives a request to another thread, if this one is not for it.</summary>
    /// <returns>Whether it was; if that fails, it is this thread's.</returns>
    private bool TryDispatch(FastCgiRequest request, PathKey path)
    {
        try
        {
            return Dispatch(request, path);
        }
        catch (Exception exception)
        {
            OnFailed(exception);
            return false;
        }
    }

    private bool Dispatch(FastCgiRequest request, PathKey path)
    {
        if (_scheduling == FastCgiApplicationScheduling.Inline)
            return false;
        if (_scheduling == FastCgiApplicationScheduling.ThreadPool)
        {
            ExecuteLater(request);
            return true;
        }

        if (!_coldStart.TryPass(request))
            return true;

        if (!Predictor.KeepsThread(path))
            return false;

        Workers.Run(request);
        return true;
    }

    private void ExecuteLater(FastCgiRequest request) => ThreadRoot.Queue(request, _executeOnThreadPool, _log);

    /// <summary>The pool has few threads: a handler that blocks there gets one of ours before long.</summary>
    private void ExecuteOnThreadPool(FastCgiRequest request)
    {
        Predictor.Execute(request, s_shortWait);
    }

    /// <summary>What the application has set on this thread, or in its execution context, ends with its call.</summary>
    private static void Restore(ExecutionContext? context, SynchronizationContext? synchronizationContext)
    {
        var thread = Thread.CurrentThread;
        if (thread.Priority != ThreadPriority.Normal)
            thread.Priority = ThreadPriority.Normal;
        if (!thread.IsBackground)
            thread.IsBackground = true;

        if (context is not null)
            ExecutionContext.Restore(context);
        if (SynchronizationContext.Current != synchronizationContext)
            SynchronizationContext.SetSynchronizationContext(synchronizationContext);
    }
}
