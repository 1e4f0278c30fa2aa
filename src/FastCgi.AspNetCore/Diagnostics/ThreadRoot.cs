using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Where every thread, callback of the thread pool, timer and event handler of the server begins. What fails in one of them is
/// logged as an error of the server, and ends what the caller names; it never ends the process.
/// </summary>
internal static class ThreadRoot
{
    /// <summary>Starts a background thread, without the execution context of the caller.</summary>
    /// <param name="name">Its name.</param>
    /// <param name="main">What it does.</param>
    /// <param name="log">Where a failure is logged.</param>
    /// <exception cref="OutOfMemoryException">The system has no thread left.</exception>
    public static void Start(string name, Action main, ILogger log)
        => new Thread(() => Run(main, static main => main(), log)) { IsBackground = true, Name = name }.UnsafeStart();

    /// <summary>Runs something on the thread pool, without the execution context of the caller.</summary>
    /// <param name="state">What it works on.</param>
    /// <param name="action">What it does.</param>
    /// <param name="log">Where a failure is logged.</param>
    /// <param name="fail">Ends what cannot go on after a failure.</param>
    public static void Queue<TState>(TState state, Action<TState> action, ILogger log, Action<TState>? fail = null)
        => ThreadPool.UnsafeQueueUserWorkItem(
            static work => Run(work.state, work.action, work.log, work.fail), (state, action, log, fail), preferLocal: false);

    /// <summary>Writes to the log on the thread pool, for a thread that no log provider may hold up.</summary>
    public static void Report(ILogger log, Action<ILogger> report) => Queue(log, report, log);

    /// <summary>Runs an asynchronous method on the thread pool, without the execution context of the caller.</summary>
    /// <returns>A task that never fails.</returns>
    public static Task Start(Func<Task> main, ILogger log, Action<Exception>? fail = null)
    {
        using (ExecutionContext.SuppressFlow())
            return Task.Run(() => RunAsync(main, log, fail));
    }

    /// <summary>Makes a timer, without the execution context of the caller.</summary>
    public static ITimer StartTimer<TState>(TimeProvider time, TState state, Action<TState> tick, TimeSpan dueTime, TimeSpan period, ILogger log)
    {
        using (ExecutionContext.SuppressFlow())
            return time.CreateTimer(_ => Run(state, tick, log), state: null, dueTime, period);
    }

    /// <summary>The root of a callback that somebody else starts: an event of the system, or a work item of the thread pool.</summary>
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
