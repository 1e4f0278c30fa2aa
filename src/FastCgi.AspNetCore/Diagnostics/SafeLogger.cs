namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>A logger for log providers, which are application code: no lock is held, and they may throw.</summary>
internal class SafeLogger(ILogger logger) : ILogger
{
    private int _failureCount;

    public int FailureCount => Volatile.Read(ref _failureCount);

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
        => null;

    public virtual bool IsEnabled(LogLevel logLevel)
    {
        HeldLock.RequireNone("A log provider");
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

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        HeldLock.RequireNone("A log provider");
        try
        {
            OnLogging(logLevel, eventId, () => formatter(state, exception), exception);
            if (logger.IsEnabled(logLevel))
                logger.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception failure)
        {
            OnFailed(failure);
        }
    }

    protected virtual void OnLogging(LogLevel level, EventId eventId, Func<string> format, Exception? exception)
    {
    }

    /// <summary>Writes the first failure to standard error, because there is no log.</summary>
    private void OnFailed(Exception exception)
    {
        if (Interlocked.Increment(ref _failureCount) != 1)
            return;

        try
        {
            Console.Error.WriteLine($"FastCgi.AspNetCore: a log provider failed, so log messages are missing; "
                + $"further failures are not reported. {exception}");
        }
        catch (Exception)
        {
            // Nothing left to report to.
        }
    }
}
