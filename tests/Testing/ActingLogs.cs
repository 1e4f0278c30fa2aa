using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Calls back for each message, or for those of a category, so that a test can act at that point.</summary>
public sealed class ActingLogs(Action<EventId> log, Action? beginScope = null, string? category = null)
    : ILoggerProvider, ILogger
{
    public ActingLogs(string eventName, Action log)
        : this(id =>
        {
            if (id.Name == eventName)
                log();
        })
    {
    }

    public ILogger CreateLogger(string categoryName)
        => category is null || category == categoryName ? this : NullLogger.Instance;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
    {
        beginScope?.Invoke();
        return null;
    }

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter) => log(eventId);

    public void Dispose()
    {
    }
}
