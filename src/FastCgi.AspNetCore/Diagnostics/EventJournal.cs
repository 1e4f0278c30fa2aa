namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Passes log messages on and remembers warnings and errors: the count, time and text of the last message of each kind.
/// The status shows them; those that an operator can fix are its recommendations. There are as many kinds as messages
/// in <see cref="FastCgiLog"/>, so it does not grow.
/// </summary>
internal sealed class EventJournal(ILogger logger, TimeProvider time) : ILogger
{
    private const int MaxMessageLength = 2_000;

    // Information that the status shows too: it may be intended.
    private static readonly int[] s_advice = [FastCgiLog.AuthorizationAbsentId, FastCgiLog.UserNotTakenId];

    private readonly Lock _lock = new();
    private readonly Dictionary<int, JournalEntry> _entries = [];

    public IReadOnlyList<JournalEntry> GetEntries()
    {
        lock (_lock)
            return [.. _entries.Values.OrderByDescending(static entry => entry.LastSeen)];
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
        => null;

    public bool IsEnabled(LogLevel logLevel)
        => logLevel is >= LogLevel.Information and < LogLevel.None || logger.IsEnabled(logLevel);

    public void Log<TState>(
        LogLevel logLevel,
        EventId eventId,
        TState state,
        Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        if (logLevel is >= LogLevel.Warning and < LogLevel.None || s_advice.Contains(eventId.Id))
            Remember(logLevel, eventId, formatter(state, exception), exception);
        if (logger.IsEnabled(logLevel))
            logger.Log(logLevel, eventId, state, exception, formatter);
    }

    /// <summary>The condition still exists; it is not logged again.</summary>
    public void Confirm(int eventId)
    {
        lock (_lock)
        {
            if (_entries.TryGetValue(eventId, out var entry))
                _entries[eventId] = entry with { LastSeen = time.GetUtcNow() };
        }
    }

    /// <summary>The condition has cleared.</summary>
    public void Forget(int eventId)
    {
        lock (_lock)
            _entries.Remove(eventId);
    }

    private void Remember(LogLevel level, EventId eventId, string message, Exception? exception)
    {
        // Only the type of an exception: its message comes from the application and may contain secrets.
        var text = exception is null ? message : $"{message} ({exception.GetType().Name})";
        if (text.Length > MaxMessageLength)
            text = text[..(char.IsHighSurrogate(text[MaxMessageLength - 1]) ? MaxMessageLength - 1 : MaxMessageLength)];
        var now = time.GetUtcNow();
        lock (_lock)
        {
            var count = _entries.TryGetValue(eventId.Id, out var before) ? before.Count : 0;
            _entries[eventId.Id] = new JournalEntry(
                eventId.Id, eventId.Name ?? string.Empty, level, text, count + 1, now);
        }
    }
}

/// <param name="Count">The number of messages; one message may represent several events.</param>
internal sealed record JournalEntry(
    int EventId, string Name, LogLevel Level, string Message, long Count, DateTimeOffset LastSeen);
