namespace FastCgi.AspNetCore.UnitTests;

/// <summary>The journal remembers events that an operator can act on, and passes on all.</summary>
public sealed class EventJournalTests : IDisposable
{
    private readonly CollectedLogs _logs = new();
    private readonly EventJournal _journal;

    public void Dispose() => _logs.Dispose();

    public EventJournalTests() => _journal = new EventJournal(_logs.CreateLogger("test"), TimeProvider.System);

    [Theory]
    [InlineData(LogLevel.Debug, "Kind", false)]
    [InlineData(LogLevel.Information, "Kind", false)]
    [InlineData(LogLevel.Information, nameof(FastCgiLog.AuthorizationAbsent), true)]
    [InlineData(LogLevel.Warning, "Kind", true)]
    [InlineData(LogLevel.Critical, "Kind", true)]
    public void Log_OfALevel_IsHandedOnAndRememberedFromWarnings(LogLevel level, string name, bool isRemembered)
    {
        _journal.Log(level, new EventId(1, name), "text", null, static (text, _) => text);

        Assert.Equal("text", Assert.Single(_logs.All).Message);
        Assert.Equal(isRemembered, _journal.GetEntries().Count == 1);
    }

    [Fact]
    public void Log_OfOneKindSeveralTimes_IsOneEntryWithTheLastText()
    {
        foreach (var text in new[] { "first", "second", "third" })
            _journal.Log(LogLevel.Warning, new EventId(7, "Kind"), text, null, static (text, _) => text);

        var entry = Assert.Single(_journal.GetEntries());
        Assert.Equal((7, "Kind", "third", 3), (entry.EventId, entry.Name, entry.Message, entry.Count));
    }

    /// <summary>An application's exception message may contain a secret.</summary>
    [Fact]
    public void Log_OfAnException_ShowsItsTypeAndNotItsMessage()
    {
        _journal.Log(
            LogLevel.Error,
            new EventId(40),
            "failed",
            new InvalidOperationException("password=hunter2"),
            static (text, _) => text);

        Assert.Equal("failed (InvalidOperationException)", Assert.Single(_journal.GetEntries()).Message);
    }

    /// <summary>Half a surrogate pair would be invalid in JSON.</summary>
    [Theory]
    [InlineData(100_000, 2_000)]
    [InlineData(1_999, 1_999)]
    public void Log_OfAVeryLongText_IsCutBetweenCharacters(int length, int left)
    {
        _journal.Log(LogLevel.Error, new EventId(40), new string('x', length) + "😀", null, static (text, _) => text);

        Assert.Equal(new string('x', left), Assert.Single(_journal.GetEntries()).Message);
    }

    [Fact]
    public void Entries_TheLastFirst()
    {
        var time = new FakeClock();
        var journal = new EventJournal(_logs.CreateLogger(""), time);
        foreach (var id in new[] { 1, 2, 3 })
        {
            journal.Log(LogLevel.Warning, new EventId(id, $"{id}"), "text", null, static (text, _) => text);
            time.Advance(TimeSpan.FromSeconds(1));
        }

        Assert.Equal([3, 2, 1], journal.GetEntries().Select(static entry => entry.EventId));
        journal.Confirm("1");
        journal.Confirm("9");
        Assert.Equal([1, 3, 2], journal.GetEntries().Select(static entry => entry.EventId));
        Assert.Equal(1, journal.GetEntries()[0].Count);
    }

    /// <summary>Advice needs Information and above, also without a log; lower levels only if a log listens.</summary>
    [Fact]
    public void IsEnabled_WithoutALog_FromInformationOn()
    {
        var journal = new EventJournal(NullLogger.Instance, new FakeClock());
        Assert.Equal(
            [LogLevel.Information, LogLevel.Warning, LogLevel.Error, LogLevel.Critical],
            Enum.GetValues<LogLevel>().Where(journal.IsEnabled));
        journal.Log(LogLevel.Information, new EventId(7), "text", null, static (text, _) => text);
        journal.Log(LogLevel.Warning, new EventId(8), "text", null, static (text, _) => text);
        Assert.Equal(8, Assert.Single(journal.GetEntries()).EventId);
    }

    [Fact]
    public void Forget_Entry_IsGone()
    {
        _journal.Log(LogLevel.Warning, new EventId(7, "Kind"), "text", null, static (text, _) => text);

        _journal.Forget("Kind");

        Assert.Empty(_journal.GetEntries());
        _journal.Confirm("Kind");
        Assert.Empty(_journal.GetEntries());
    }
}
