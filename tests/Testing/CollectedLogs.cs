using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Collects log messages for a test, which fails on unexpected errors.</summary>
public sealed class CollectedLogs : ILoggerProvider
{
    private readonly ConcurrentQueue<CollectedLog> _all = new();

    /// <summary>All messages so far.</summary>
    public IReadOnlyCollection<CollectedLog> All => _all;

    /// <summary>The names of events at Error and above that the test expects.</summary>
    public HashSet<string> Expected { get; } = [];

    public IEnumerable<string> Find(LogLevel level, string eventName)
        => _all.Where(log => log.Level == level && log.EventName == eventName).Select(static log => log.Message);

    public IEnumerable<CollectedLog> Warnings => _all.Where(static log => log.Level >= LogLevel.Warning);

    public IEnumerable<CollectedLog> UnexpectedErrors
        => _all.Where(log => log.Level >= LogLevel.Error && !Expected.Contains(log.EventName));

    /// <summary>The messages with this name so far.</summary>
    public IReadOnlyList<CollectedLog> Named(string eventName)
        => [.. _all.Where(log => log.EventName == eventName)];

    /// <summary>Fails if an error is unexpected, or an expected one is missing.</summary>
    public void Verify()
    {
        Assert.Empty(UnexpectedErrors);
        Assert.All(
            Expected,
            expected => Assert.Contains(_all, log => log.Level >= LogLevel.Error && log.EventName == expected));
    }

    /// <summary>The one message of a name, waiting for it: some are written on another thread.</summary>
    public async Task<CollectedLog> SingleAsync(string eventName)
    {
        await Waiting.UntilAsync(() => _all.Any(log => log.EventName == eventName), eventName);
        return _all.Single(log => log.EventName == eventName);
    }

    public ILogger CreateLogger(string categoryName) => new Collector(this, categoryName);

    public void Dispose()
    {
    }

    private sealed class Collector(CollectedLogs logs, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(
            LogLevel logLevel,
            EventId eventId,
            TState state,
            Exception? exception,
            Func<TState, Exception?, string> formatter)
            => logs._all.Enqueue(
                new CollectedLog(logLevel, category, eventId.Name ?? "", formatter(state, exception), exception));
    }
}

public sealed record CollectedLog(
    LogLevel Level, string Category, string EventName, string Message, Exception? Exception);
