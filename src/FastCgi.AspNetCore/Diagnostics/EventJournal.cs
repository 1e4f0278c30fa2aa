namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// The server's logger: calls log providers, which are application code, so no lock is held, and they may throw; and
/// remembers, for the status, the last warning or error of each kind.
/// </summary>
internal sealed class EventJournal(ILogger logger, TimeProvider time) : ILogger
{
    private const int MaxMessageLength = 2_000;

    // Information that the status shows too: it may be intended.
    private static readonly string[] s_advice =
        [nameof(FastCgiLog.AuthorizationAbsent), nameof(FastCgiLog.UserNotTaken)];

    private readonly Lock _lock = new();

    // The number of kinds is fixed.
    private readonly Dictionary<string, JournalEntry> _entries = [];
    private bool _hasFailed;

    public IReadOnlyList<JournalEntry> GetEntries()
    {
        using (_lock.Acquire())
            return [.. _entries.Values.OrderByDescending(static entry => entry.LastSeen)];
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull
        => null;

    public bool IsEnabled(LogLevel logLevel)
    {
        Invariants.RequireNoLock("A log provider");
        try
        {
            return logLevel is >= LogLevel.Information and < LogLevel.None || logger.IsEnabled(logLevel);
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
        Invariants.RequireNoLock("A log provider");
        try
        {
            var name = eventId.Name ?? string.Empty;
            if (logLevel is (>= LogLevel.Warning and < LogLevel.None) || s_advice.Contains(name))
                Remember(logLevel, eventId.Id, name, formatter(state, exception), exception);
            if (logger.IsEnabled(logLevel))
                logger.Log(logLevel, eventId, state, exception, formatter);
        }
        catch (Exception failure)
        {
            OnFailed(failure);
        }
    }

    /// <summary>Confirms that the condition still exists, without logging it again.</summary>
    public void Confirm(string name)
    {
        using (_lock.Acquire())
        {
            if (_entries.TryGetValue(name, out var entry))
                _entries[name] = entry with { LastSeen = time.GetUtcNow() };
        }
    }

    public void Forget(string name)
    {
        using (_lock.Acquire())
            _entries.Remove(name);
    }

    private void Remember(LogLevel level, int id, string name, string message, Exception? exception)
    {
        // Only the type of an exception: its message comes from the application and may contain secrets.
        var text = exception is null ? message : $"{message} ({exception.GetType().Name})";
        if (text.Length > MaxMessageLength)
            text = text[..(char.IsHighSurrogate(text[MaxMessageLength - 1]) ? MaxMessageLength - 1 : MaxMessageLength)];
        using (_lock.Acquire())
        {
            var count = _entries.GetValueOrDefault(name)?.Count ?? 0;
            _entries[name] = new JournalEntry(id, name, level, text, count + 1, time.GetUtcNow());
        }
    }

    /// <summary>Writes the first failure to standard error, because there is no log.</summary>
    private void OnFailed(Exception exception)
    {
        if (Interlocked.Exchange(ref _hasFailed, true))
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
