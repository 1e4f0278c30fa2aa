namespace FastCgi.AspNetCore.Execution;

/// <summary>Executes requests on the thread that received them or a better one, and then sends their output.</summary>
internal sealed class RequestScheduler
{
    // A request that takes longer leaves the loop even if the loop has little else to do.
    private const int MaxMicrosecondsOfQuietLoop = 150;

    // Log providers that block must not cost memory without limit.
    private const int MaxWaitingReports = 1_000;

    private readonly FastCgiApplicationScheduling _scheduling;
    private readonly ThreadPlatform _platform;
    private readonly TimeProvider _time;
    private readonly ILogger _log;

    public RequestScheduler(FastCgiTransportOptions options, ThreadPlatform platform, TimeProvider time, ILogger log)
    {
        _scheduling = options.ApplicationScheduling;
        _platform = platform;
        _time = time;
        _log = log;
        var maxBlocked = Math.Min(options.MaxBlockingThreads, platform.MaxHandlerThreads);
        Workers = new WorkerPool(this, maxBlocked, options.LoopCount, platform.ProcessorCount, platform, time, log);
        Watchdog = new StallWatchdog(Workers, Predictor, platform, time, log);
    }

    public WorkerPool Workers { get; }
    public StallWatchdog Watchdog { get; }
    public PathPredictor Predictor { get; } = new();

    public void Start()
    {
        Watchdog.Start();
        Workers.EnsureSpare();
    }

    /// <summary>Stops queuing, so that all requests can complete.</summary>
    public void BeginStop()
    {
        Workers.BeginStop();
        Watchdog.OnActivity();
    }

    /// <summary>Ends the threads after the connections are closed. It may be called more than once.</summary>
    public void Stop()
    {
        Watchdog.Stop();
        Workers.Stop();
    }

    /// <summary>Runs a loop until it ends or the thread loses it. Whatever fails, the loop keeps a thread.</summary>
    public void Run(Worker worker, RunQueue loop)
    {
        var source = Workers.HasWaiting ? BatchSource.Poll : BatchSource.Wait;
        while (true)
        {
            try
            {
                // The thread that had the loop before may have left a part of a batch.
                if (!RunBatch(worker, loop))
                    return;

                switch (TryBegin(worker.Meter, loop, source))
                {
                    case BatchResult.Ended:
                        worker.Loop = null;
                        return;
                    case BatchResult.Begun:
                        // Requests that wait for a seat may have been left to this thread.
                        if (source == BatchSource.Poll && Workers.HasWaiting)
                            Workers.WakeForWaiting(processors: 1);
                        source = BatchSource.Received;
                        break;
                    case BatchResult.None when Workers.TryLeaveLoop(worker):
                        return;
                    case BatchResult.None:
                        source = BatchSource.Wait;
                        break;
                }
            }
            catch (Exception exception)
            {
                _platform.OnFailed(exception);
                if (worker.Loop != loop)
                    return;
            }
        }
    }

    public void Run(Worker worker, WorkItem item)
    {
        if (item.Loop is { } loop)
        {
            Run(worker, loop);
            return;
        }

        if (item.Action is { } action)
        {
            ThreadRoot.Run(action, static action => action(), _log);
            return;
        }

        var request = item.Request!;
        var path = GetPath(request);
        var expected = Predict(path);
        if (expected.Sleeps)
            Workers.LeaveSeat(worker);
        if (worker.Permit == Permit.Thread)
            Workers.EnsureSpare();
        Call(worker, request, path, expected);
    }

    /// <summary>Runs the batch of a loop. After an exception, this thread still owns the loop.</summary>
    /// <returns>Whether this thread still owns the loop. If not, another thread continues with it.</returns>
    public bool RunBatch(Worker worker, RunQueue loop)
    {
        if (loop.Output is not { } output)
            return true;

        while (!loop.IsEmpty)
        {
            var request = loop.RemoveFirst();
            var path = GetPath(request);
            var expected = Predict(path);
            if (TryDispatch(worker, request, path, expected, loop))
                continue;

            if (!Call(worker, request, path, expected))
            {
                // The thread that took the loop may have sent before this request queued its last records.
                ThreadRoot.Run(output, static output => output.FlushNow(), _log);
                return false;
            }
        }

        output.FlushNow();
        if (loop.TakeReports() is { Count: > 0 } reports && !Report(worker, reports))
            return false;

        loop.End();
        return true;
    }

    public ThreadProbe? ProbeThisThread() => _platform.ProbeThisThread();

    public CallMeter CreateMeter() => new(_platform, _time);

    private static BatchResult TryBegin(CallMeter meter, RunQueue loop, BatchSource source)
    {
        var result = loop.TryBegin(source);
        if (source != BatchSource.Received)
            loop.UpdateLoad(meter.Now);
        return result;
    }

    /// <summary>Calls log providers. One that blocks keeps the thread, so the loop can be taken from it too.</summary>
    /// <returns>Whether this thread still owns the loop.</returns>
    private bool Report(Worker worker, IReadOnlyList<Action> reports)
    {
        if (Workers.IsServerBlocked)
        {
            ReportLater(reports);
            return true;
        }

        worker.Enter(response: null, path: default);
        WakeWatchdog();
        foreach (var report in reports)
            ThreadRoot.Run(report, static report => report(), _log);
        return worker.Leave() == Permit.Loop;
    }

    /// <summary>Queues reports. While log providers block all threads for them, further ones are lost.</summary>
    private void ReportLater(IReadOnlyList<Action> reports)
    {
        foreach (var report in reports.Take(MaxWaitingReports - Workers.ServerWaitingCount))
            Workers.Run(new WorkItem(Action: report), Permit.Server);
    }

    /// <returns>Whether the thread still owns its loop, if it had one.</returns>
    private bool Call(Worker worker, FastCgiRequest request, PathKey path, Prediction expected)
    {
        var response = request.Response;
        var loop = worker.Loop;
        // Do not hold output on a thread that the watchdog does not sample.
        if (worker.Permit is Permit.Loop or Permit.Seat)
            response.Cork(sendsAtEnd: loop is null or { IsEmpty: true });
        var context = ExecutionContext.Capture();
        var synchronizationContext = SynchronizationContext.Current;
        var before = worker.Permit;
        worker.Enter(response, path);
        WakeWatchdog();
        var (hasReturned, cost) = Execute(request, path.IsPath ? worker.Meter : null, expected);
        var permit = worker.Leave();
        // Exceptions must not escape from here on: the caller would not know which thread owns the loop.
        try
        {
            if (!hasReturned)
                response.Yield();
            if (loop is null)
                request.Connection.Output.FlushNow();
            Restore(context, synchronizationContext);
            // Without a path, it was a call of the server itself, so there is nothing to learn.
            if (path.IsPath)
            {
                Workers.EndFirst();
                // A loop that was taken meanwhile belongs to another thread.
                if (permit == Permit.Loop)
                    loop!.CountWork(cost?.Microseconds ?? expected.Microseconds);
                Learn(path, cost, wasTaken: permit != before);
            }
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
        }

        return permit == Permit.Loop;
    }

    /// <summary>Executes a request. Whatever it throws, the thread still has to find out what it holds.</summary>
    private (bool HasReturned, CallCost? Cost) Execute(FastCgiRequest request, CallMeter? meter, Prediction expected)
    {
        try
        {
            meter?.Begin(expected);
            var hasReturned = request.Execute();
            return (hasReturned, meter?.End());
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
            return (HasReturned: true, Cost: null);
        }
    }

    /// <param name="wasTaken">Whether the watchdog took the loop or seat of the thread during the call.</param>
    private void Learn(PathKey path, CallCost? cost, bool wasTaken)
    {
        if (cost is { IsAsleep: true } slept)
            Workers.OnSlept(slept);
        if (cost is { } measured && (measured.IsAsleep is not null || measured.IsShort))
            Predictor.OnMeasured(path, measured);
        else if (cost is not null || wasTaken)
            Predictor.OnSurprise(path);
    }

    private void WakeWatchdog() => ThreadRoot.Run(Watchdog, static watchdog => watchdog.OnActivity(), _log);

    private static PathKey GetPath(FastCgiRequest request)
        // Other requests are calls of the server itself: they need no thread for the application.
        => request is { IsForApplication: true, IsDetached: false, IsForStatus: false }
            ? new PathKey(request.Path)
            : default;

    private Prediction Predict(PathKey path) => path.IsPath ? Predictor.Predict(path) : default;

    /// <returns>Whether another thread runs the request. If not, or if that fails, this thread must.</returns>
    private bool TryDispatch(
        Worker worker, FastCgiRequest request, PathKey path, Prediction expected, RunQueue loop)
    {
        try
        {
            if (path.IsPath && _scheduling == FastCgiApplicationScheduling.ThreadPool)
            {
                // Nothing is measured, because nothing is predicted.
                ThreadRoot.Queue(
                    (Scheduler: this, request),
                    static call => call.Scheduler.Execute(call.request, meter: null, expected: default), _log);
                return true;
            }

            var permit = Choose(worker, request, path, expected, loop);
            if (permit == Permit.None)
                return false;

            // If the loop has nothing else to do, this thread itself runs the request after the loop.
            var computes = permit == Permit.Seat;
            if (computes)
                loop.CountWork(expected.Microseconds);
            Workers.Run(
                new WorkItem(request, IsLong: computes && expected.IsLong), permit,
                requests: computes && loop is { HasMore: false, IsEmpty: true } ? 1 : 0, processors: computes ? 1 : 0);
            return true;
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
            return false;
        }
    }

    /// <returns>What the request waits for; nothing if this thread runs it.</returns>
    private Permit Choose(Worker worker, FastCgiRequest request, PathKey path, Prediction expected, RunQueue loop)
    {
        // The server's own calls wait neither for threads of the application, nor for the first request. All but these
        // may log, and middleware may block the status.
        if (!path.IsPath)
            return Workers.IsServerBlocked && request is { IsPing: false, IsDetached: false }
                ? Permit.Server
                : Permit.None;
        if (Workers.IsOverfull)
            return Permit.Thread;
        if (_scheduling == FastCgiApplicationScheduling.Inline)
            return Permit.None;
        if (!Workers.First.IsOver && !Workers.First.TryBegin(worker.Probe))
            return Permit.Thread;
        // If no thread is left, none could take over the loop or seat of a handler that blocks.
        if (expected.Sleeps || (!expected.IsKnown && Workers.IsFull))
            return Permit.Thread;

        return expected.IsShort || (expected.Microseconds < MaxMicrosecondsOfQuietLoop && !loop.IsBusy)
            ? Permit.None
            : Permit.Seat;
    }

    /// <summary>Reverts changes of the application to this thread and its execution context.</summary>
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
