using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Tests;

/// <summary>A log whose entries can be looked at.</summary>
internal sealed class LogCollector : ILogger
{
    public List<(LogLevel Level, string? Event, string Message)> Entries { get; } = [];

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
        => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        => Entries.Add((logLevel, eventId.Name, formatter(state, exception)));
}
