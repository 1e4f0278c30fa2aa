namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>The entry point of all threads and callbacks. Exceptions are logged and never end the process.</summary>
internal static class ThreadRoot
{
    // A log provider that blocks must not prevent the end of the process.
    private static readonly TimeSpan s_reportTime = TimeSpan.FromSeconds(2);

    /// <summary>Starts a background thread without the caller's execution context.</summary>
    public static Thread Start(string name, Action main, ILogger log)
    {
        var thread = new Thread(() => Run(main, static main => main(), log)) { IsBackground = true, Name = name };
        thread.UnsafeStart();
        return thread;
    }

    public static void Queue<TState>(TState state, Action<TState> action, ILogger log)
        => Uninterrupted.Do(
            (state, action, log),
            static work => ThreadPool.UnsafeQueueUserWorkItem(
                static work => Run(work.state, work.action, work.log), work, preferLocal: false));

    /// <summary>Logs on the thread pool, for a thread that a log provider must not block.</summary>
    public static void Report(ILogger log, Action<ILogger> report) => Queue(log, report, log);

    /// <summary>
    /// Logs, and waits: a process that is about to end would lose the message. Uses no thread of the pool, which
    /// handlers may block.
    /// </summary>
    public static void ReportAndWait(ILogger log, Action<ILogger> report)
        => Start("FastCgi report", () => report(log), log).Join(s_reportTime);

    /// <summary>Runs an asynchronous method on the thread pool without the caller's execution context.</summary>
    /// <returns>A task that never fails.</returns>
    public static Task Start(Func<Task> main, ILogger log)
    {
        using (ExecutionContext.SuppressFlow())
            return Task.Run(() => RunAsync(main, log));
    }

    /// <summary>Repeats an action on its own thread, as handlers may block the pool; or on a test's clock.</summary>
    /// <returns>An object that ends the repetition, without waiting for an action in progress.</returns>
    public static IDisposable Repeat<TState>(
        string name, TimeProvider time, TState state, Action<TState> action, TimeSpan interval, ILogger log)
    {
        if (time != TimeProvider.System)
            return time.CreateTimer(_ => Run(state, action, log), state: null, interval, interval);

        var stop = new CancellationTokenSource();
        Start(name, () => Repeat(state, action, interval, log, stop.Token), log);
        return new Repetition(stop);
    }

    private static void Repeat<TState>(
        TState state, Action<TState> action, TimeSpan interval, ILogger log, CancellationToken stop)
    {
        var due = Environment.TickCount64 + interval.TotalMilliseconds;
        while (!stop.WaitHandle.WaitOne((int)Math.Clamp(due - Environment.TickCount64, 0, int.MaxValue)))
        {
            Run(state, action, log);
            // After a long run or a suspended process, missed runs are skipped.
            due = Math.Max(due + interval.TotalMilliseconds, Environment.TickCount64);
        }
    }

    /// <param name="fail">Called after an exception, to end the affected request or connection.</param>
    public static void Run<TState>(TState state, Action<TState> action, ILogger log, Action<TState>? fail = null)
    {
        try
        {
            action(state);
        }
        catch (Exception exception)
        {
            log.ServerFailed(exception);
            if (fail is not null)
                Run(state, fail, log);
        }
    }

    private sealed class Repetition(CancellationTokenSource stop) : IDisposable
    {
        public void Dispose() => stop.Cancel();
    }

    private static async Task RunAsync(Func<Task> main, ILogger log)
    {
        try
        {
            await main().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            log.ServerFailed(exception);
        }
    }
}
