using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>What the application and its server log. An error that no test expects fails the test.</summary>
internal sealed class TestLog : ILoggerProvider
{
    private readonly ConcurrentQueue<Entry> _entries = new();
    private readonly List<string> _expectedErrors = [];

    /// <summary>The lines of the log.</summary>
    public IEnumerable<string> Lines => _entries.Select(entry => entry.ToString());

    /// <summary>Makes the test fail if there is no error of this name, instead of if there is one.</summary>
    public void ExpectError(string eventName) => _expectedErrors.Add(eventName);

    /// <summary>The lines of a level and event.</summary>
    public IEnumerable<string> Find(LogLevel level, string eventName)
        => _entries.Where(entry => entry.Level == level && entry.EventName == eventName).Select(entry => entry.Text);

    /// <summary>The lines of Warnings and above.</summary>
    public IEnumerable<string> FindWarnings() => _entries.Where(static entry => entry.Level >= LogLevel.Warning).Select(static entry => entry.ToString());

    /// <summary>Compares the errors that were logged with those that were expected.</summary>
    public void Verify()
    {
        var errors = _entries.Where(entry => entry.Level >= LogLevel.Error).ToList();
        var unexpected = errors.Where(entry => !_expectedErrors.Contains(entry.EventName)).Select(entry => entry.ToString()).ToList();
        Assert.True(unexpected.Count == 0, string.Join('\n', unexpected));
        Assert.All(_expectedErrors, expected => Assert.Contains(errors, entry => entry.EventName == expected));
    }

    /// <inheritdoc/>
    public ILogger CreateLogger(string categoryName) => new Logger(this);

    /// <inheritdoc/>
    public void Dispose()
    {
    }

    private sealed record Entry(LogLevel Level, string EventName, string Text, Exception? Exception)
    {
        public override string ToString() => $"{Level} {EventName}: {Text} {Exception}";
    }

    private sealed class Logger(TestLog log) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
            => null;

        public bool IsEnabled(LogLevel logLevel) => true;

        public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
            => log._entries.Enqueue(new Entry(logLevel, eventId.Name ?? string.Empty, formatter(state, exception), exception));
    }
}
