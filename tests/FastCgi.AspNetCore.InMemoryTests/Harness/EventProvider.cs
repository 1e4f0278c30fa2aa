namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A log provider that calls back on one event, so that a test can act at that point.</summary>
internal sealed class EventProvider(string eventName, Action log) : ILoggerProvider, ILogger
{
    public ILogger CreateLogger(string categoryName)
        => categoryName.StartsWith("FastCgi", StringComparison.Ordinal) ? this : NullLogger.Instance;

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (eventId.Name == eventName)
            log();
    }

    public void Dispose()
    {
    }
}
