namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>The entry point of all threads and callbacks of the server. Exceptions are logged and never end the process.</summary>
internal static class ThreadRoot
{
    /// <summary>Starts a background thread without the caller's execution context.</summary>
    public static void Start(string name, Action main, ILogger log)
        => new Thread(() => Run(main, static main => main(), log)) { IsBackground = true, Name = name }.UnsafeStart();

    /// <summary>Runs an action on the thread pool without the caller's execution context.</summary>
    /// <param name="fail">Called after an exception, to end what cannot continue.</param>
    public static void Queue<TState>(TState state, Action<TState> action, ILogger log, Action<TState>? fail = null)
        => ThreadPool.UnsafeQueueUserWorkItem(
            static work => Run(work.state, work.action, work.log, work.fail), (state, action, log, fail), preferLocal: false);

    /// <summary>Logs on the thread pool, for a thread that a log provider must not block.</summary>
    public static void Report(ILogger log, Action<ILogger> report) => Queue(log, report, log);

    /// <summary>Runs an asynchronous method on the thread pool without the caller's execution context.</summary>
    /// <returns>A task that never fails.</returns>
    public static Task Start(Func<Task> main, ILogger log, Action<Exception>? fail = null)
    {
        using (ExecutionContext.SuppressFlow())
            return Task.Run(() => RunAsync(main, log, fail));
    }

    /// <summary>Starts a timer without the caller's execution context.</summary>
    public static ITimer StartTimer<TState>(TimeProvider time, TState state, Action<TState> tick, TimeSpan dueTime, TimeSpan period, ILogger log)
    {
        using (ExecutionContext.SuppressFlow())
            return time.CreateTimer(_ => Run(state, tick, log), state: null, dueTime, period);
    }

    public static void Run<TState>(TState state, Action<TState> action, ILogger log, Action<TState>? fail = null)
    {
        try
        {
            action(state);
        }
        catch (Exception exception)
        {
            Fail(state, log, fail, exception);
        }
    }

    private static void Fail<TState>(TState state, ILogger log, Action<TState>? fail, Exception exception)
    {
        try
        {
            log.ServerFailed(exception);
            fail?.Invoke(state);
        }
        catch (Exception failure)
        {
            log.ServerFailed(failure);
        }
    }

    private static async Task RunAsync(Func<Task> main, ILogger log, Action<Exception>? fail)
    {
        try
        {
            await main().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            Fail(exception, log, fail, exception);
        }
    }
}
