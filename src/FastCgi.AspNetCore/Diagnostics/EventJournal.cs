using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Remembers the warnings and errors of the server while it passes them on: of each kind how many, when the last was, and what it said.
/// The status shows them: those that an operator can mend are its recommendations. There are as many kinds as messages in
/// <see cref="FastCgiLog"/>, so it does not grow.
/// </summary>
internal sealed class EventJournal(ILogger logger, TimeProvider time) : ILogger
{
    private const int MaxMessageLength = 2_000;

    // What may be in order, and is worth knowing when it is not.
    private static readonly int[] s_advice = [FastCgiLog.AuthorizationAbsentId, FastCgiLog.EventStreamMayBeHeldId, FastCgiLog.UserNotTakenId];

    private readonly Lock _lock = new();
    private readonly Dictionary<int, JournalEntry> _entries = [];

    /// <summary>What was logged, the last first.</summary>
    public IReadOnlyList<JournalEntry> GetEntries()
    {
        lock (_lock)
            return [.. _entries.Values.OrderByDescending(static entry => entry.LastSeen)];
    }

    /// <inheritdoc/>
    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
        => logger.BeginScope(state);

    /// <inheritdoc/>
    public bool IsEnabled(LogLevel logLevel) => logLevel is >= LogLevel.Information and < LogLevel.None || logger.IsEnabled(logLevel);

    /// <inheritdoc/>
    public void Log<TState>(LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        if (logLevel is >= LogLevel.Warning and < LogLevel.None || s_advice.Contains(eventId.Id))
            Remember(logLevel, eventId, formatter(state, exception), exception);
        if (logger.IsEnabled(logLevel))
            logger.Log(logLevel, eventId, state, exception, formatter);
    }

    /// <summary>What was logged is still so: nothing is logged again.</summary>
    public void Confirm(int eventId)
    {
        lock (_lock)
        {
            if (_entries.TryGetValue(eventId, out var entry))
                _entries[eventId] = entry with { LastSeen = time.GetUtcNow() };
        }
    }

    /// <summary>What was logged is so no longer.</summary>
    public void Forget(int eventId)
    {
        lock (_lock)
            _entries.Remove(eventId);
    }

    private void Remember(LogLevel level, EventId eventId, string message, Exception? exception)
    {
        // Of an exception the type alone: its message is the application's, and may have anything in it.
        var text = exception is null ? message : $"{message} ({exception.GetType().Name})";
        if (text.Length > MaxMessageLength)
            text = text[..(char.IsHighSurrogate(text[MaxMessageLength - 1]) ? MaxMessageLength - 1 : MaxMessageLength)];
        var now = time.GetUtcNow();
        lock (_lock)
        {
            var count = _entries.TryGetValue(eventId.Id, out var before) ? before.Count : 0;
            _entries[eventId.Id] = new JournalEntry(eventId.Id, eventId.Name ?? string.Empty, level, text, count + 1, now);
        }
    }
}

/// <summary>A kind of warning or error.</summary>
/// <param name="EventId">Its number, which <c>docs/diagnostics.md</c> explains.</param>
/// <param name="Name">Its name.</param>
/// <param name="Level">How grave it is.</param>
/// <param name="Message">The last message.</param>
/// <param name="Count">The messages so far; one may stand for many events.</param>
/// <param name="LastSeen">When the last was.</param>
internal sealed record JournalEntry(int EventId, string Name, LogLevel Level, string Message, long Count, DateTimeOffset LastSeen);
