using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// The server's logger. Log providers are code of the application: one that throws changes nothing for a request or a connection,
/// and none is called while a lock is held.
/// </summary>
internal sealed class SafeLogger(ILogger logger) : ILogger
{
    private int _failureCount;

    /// <summary>How often a provider has thrown.</summary>
    public int FailureCount => Volatile.Read(ref _failureCount);

    /// <summary>Wraps a logger, unless it is safe already.</summary>
    public static ILogger Wrap(ILogger logger) => logger as SafeLogger ?? new SafeLogger(logger);

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
    {
        try
        {
            return logger.BeginScope(state);
        }
        catch (Exception exception)
        {
            OnFailed(exception);
            return null;
        }
    }

    public bool IsEnabled(LogLevel logLevel)
    {
        LockOrder.RequireNone("A log provider");
        try
        {
            return logger.IsEnabled(logLevel);
        }
        catch (Exception exception)
        {
            OnFailed(exception);
            return false;
        }
    }

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        LockOrder.RequireNone("A log provider");
        try
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception failure)
        {
            OnFailed(failure);
        }
    }

    /// <summary>There is no log to write to, so the first failure goes to the standard error of the process.</summary>
    private void OnFailed(Exception exception)
    {
        if (Interlocked.Increment(ref _failureCount) != 1)
            return;

        try
        {
            Console.Error.WriteLine($"FastCgi.AspNetCore: a log provider failed, so that log lines are missing. Reported once. {exception}");
        }
        catch (Exception)
        {
            // Nobody is left who could be told.
        }
    }
}
