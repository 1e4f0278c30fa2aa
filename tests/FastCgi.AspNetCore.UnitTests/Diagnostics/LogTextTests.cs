namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>Foreign text in a log line cannot imitate another line.</summary>
public sealed class LogTextTests
{
    [Fact]
    public void Clean_EveryCharacter_HarmfulOnesAreBlanks()
    {
        for (var c = 0; c <= 0xFFFF; c++)
        {
            var isHarmful = char.IsControl((char)c)
                || c is 0x061C or 0x200E or 0x200F or (>= 0x2028 and <= 0x202E) or (>= 0x2066 and <= 0x2069);
            Assert.Equal(isHarmful ? ' ' : (char)c, LogText.Clean(((char)c).ToString())[0]);
        }
    }

    [Theory]
    [InlineData("abc", 3, "abc")]
    [InlineData("abcd", 3, "abc…")]
    [InlineData("a\nc", 3, "a c")]
    [InlineData("a\ncd", 3, "a c…")]
    [InlineData("ab😀d", 3, "ab…")]
    [InlineData("ab😀d", 4, "ab😀…")]
    [InlineData("abc", 0, "…")]
    [InlineData("", 0, "")]
    [InlineData("😀", 1, "…")]
    public void Clean_LongText_IsCutBetweenCharacters(string text, int length, string clean)
        => Assert.Equal(clean, LogText.Clean(text, length));

    [Fact]
    public void Require_WhatIsNotSo_ThrowsAndNamesIt()
    {
        Invariants.Require(true, "never");
        Assert.Equal("what", Assert.Throws<InvariantException>(static () => Invariants.Require(false, "what")).Message);
        Assert.NotNull(Invariants.FirstViolation);
    }

    [Fact]
    public void Journal_Entries_TheLastFirst()
    {
        var time = new ManualTime();
        using var logs = new CollectedLogs();
        var journal = new EventJournal(logs.CreateLogger(""), time);
        foreach (var id in new[] { 1, 2, 3 })
        {
            journal.Log(LogLevel.Warning, new EventId(id), "text", null, static (text, _) => text);
            time.Now += TimeSpan.FromSeconds(1);
        }

        Assert.Equal([3, 2, 1], journal.GetEntries().Select(static entry => entry.EventId));
        journal.Confirm(1);
        journal.Confirm(9);
        Assert.Equal([1, 3, 2], journal.GetEntries().Select(static entry => entry.EventId));
        Assert.Equal(1, journal.GetEntries()[0].Count);
    }

    /// <summary>Advice needs Information and above, also without a log; lower levels only if a log listens.</summary>
    [Theory]
    [InlineData(LogLevel.Trace, false)]
    [InlineData(LogLevel.Debug, false)]
    [InlineData(LogLevel.Information, true)]
    [InlineData(LogLevel.Warning, true)]
    [InlineData(LogLevel.Critical, true)]
    [InlineData(LogLevel.None, false)]
    public void Journal_WithoutALog_TakesFromInformationOn(LogLevel level, bool isEnabled)
    {
        var journal = new EventJournal(Microsoft.Extensions.Logging.Abstractions.NullLogger.Instance, new ManualTime());

        Assert.Equal(isEnabled, journal.IsEnabled(level));
        journal.Log(level, new EventId(7), "text", null, static (text, _) => text);
        Assert.Equal(isEnabled && level >= LogLevel.Warning ? 1 : 0, journal.GetEntries().Count);
    }
}
