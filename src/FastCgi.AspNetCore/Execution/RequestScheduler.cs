namespace FastCgi.AspNetCore.Execution;

/// <summary>Runs the application for every engine: what one receive made ready, on its thread or a better one. Then their output is sent.</summary>
internal sealed class RequestScheduler : RequestRunner
{
    // Shorter waits are lock contention or garbage collection, not blocking.
    private static readonly TimeSpan s_shortWait = TimeSpan.FromMilliseconds(1);

    // A repeated failure must not keep a processor busy.
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

    public WorkerPool Workers { get; }
    public StallWatchdog Watchdog { get; }
    public PathPredictor Predictor { get; }

    public void Start()
    {
        Watchdog.Start();
        if (_scheduling == FastCgiApplicationScheduling.Auto)
            Workers.EnsureSpare();
    }

    /// <summary>Runs requests at once, although none has returned yet.</summary>
    public void EndColdStart() => _coldStart.End();

    /// <summary>Takes stalled queues from now on, whatever the options say, so that the other requests can end.</summary>
    public void BeginStop()
    {
        Workers.BeginStop();
        Watchdog.BeginStop();
        _coldStart.End();
    }

    /// <summary>Ends the threads after the connections are closed. It may be called more than once.</summary>
    public void Stop()
    {
        Watchdog.Stop();
        _coldStart.End();
        Workers.Stop();
    }

    /// <summary>Runs requests on other threads, for an engine whose thread must keep receiving, and sends the server's own output.</summary>
    public void RunElsewhere(ref ReadyRequests ready, RecordOutput output)
    {
        while (!ready.IsEmpty)
            Run(ready.RemoveFirst());
        output.FlushNow();
        foreach (var report in ready.TakeReports())
            ThreadRoot.Queue(report, static report => report(), _log);
    }

    /// <summary>Runs a request that has waited for a slot, on another thread.</summary>
    public override void Run(FastCgiRequest request)
    {
        // A response of the server's own needs no application thread, for which it would wait when there are none.
        if (request.Rejection == RequestRejection.None && _scheduling == FastCgiApplicationScheduling.Auto && Predictor.KeepsThread(new PathKey(request.Path)))
            Workers.Run(request);
        else
            ExecuteLater(request);
    }

    public override void Leave(FastCgiRequest request) => Workers.Leave(request);

    /// <summary>Runs a queue on a thread that owns it from now on, until it ends or is taken. Whatever fails, the queue keeps a thread.</summary>
    /// <returns>Whether the queue has ended. If not, it was taken, and this thread must not touch it.</returns>
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
                _log.ServerFailed(exception);
                _platform.Pause(s_pauseAfterFailure);
            }
        }
    }

    public void Execute(FastCgiRequest request)
    {
        var context = ExecutionContext.Capture();
        var synchronizationContext = SynchronizationContext.Current;
        Predictor.Execute(request, TimeSpan.Zero);
        Restore(context, synchronizationContext);
    }

    /// <summary>Runs the batch of a queue. After an exception, this thread still owns the queue.</summary>
    /// <returns>Whether this thread still owns the queue. If not, another thread continues with it.</returns>
    public bool RunBatch(RunQueue queue)
    {
        if (queue.Output is not { } output)
            return true;

        while (!queue.IsEmpty)
        {
            var request = queue.RemoveFirst();
            // A request that the server ends itself needs no application thread.
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

    /// <summary>Calls log providers. One that blocks keeps the thread, so the queue can be taken from it too.</summary>
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
        // From here on nothing may throw: the caller would not know who owns the queue.
        try
        {
            if (!hasReturned)
                response.Yield();
            Restore(context, synchronizationContext);
            // The thread that took the queue may have sent before this request queued its last records.
            if (!isOurs)
                output.FlushNow();
            // Without a path the application was not called, so nothing is learned.
            if (path.IsPath)
            {
                _coldStart.OnReturned();
                Predictor.OnReturned(path, awaits: !hasReturned);
            }
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
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
            _log.ServerFailed(exception);
            return null;
        }
    }

    private void WakeWatchdog() => ThreadRoot.Run(Watchdog, static watchdog => watchdog.OnActivity(), _log);

    /// <returns>Whether another thread runs the request. If not, or if that fails, this thread must.</returns>
    private bool TryDispatch(FastCgiRequest request, PathKey path)
    {
        try
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
            if (Predictor.KeepsThread(path))
                Workers.Run(request);
            else if (Predictor.Awaits(path))
                ExecuteLater(request);
            else
                return false;
            return true;
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
            return false;
        }
    }

    private void ExecuteLater(FastCgiRequest request) => ThreadRoot.Queue(request, _executeOnThreadPool, _log);

    // The thread pool has few threads: a handler that blocks there soon gets a worker.
    private void ExecuteOnThreadPool(FastCgiRequest request) => Predictor.Execute(request, s_shortWait);

    /// <summary>Undoes what the application changed on this thread and in its execution context.</summary>
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
