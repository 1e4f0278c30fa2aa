namespace FastCgi.AspNetCore.Diagnostics;

/// <param name="Count">The number of messages; one message may represent several events.</param>
internal sealed record JournalEntry(
    int EventId, string Name, LogLevel Level, string Message, long Count, DateTimeOffset LastSeen);
