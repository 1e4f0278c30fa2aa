namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>Foreign code is called without a lock, and its failure ends nothing else.</summary>
public sealed class SafetyTests : IDisposable
{
    private readonly CollectedLogs _logs = new();

    public void Dispose() => _logs.Dispose();

    [Theory, Values(1, 2)]
    public void LogProvider_WithALockHeld_IsAViolation(int rank)
    {
        var log = SafeLogger.Wrap(_logs.CreateLogger(""));
        var before = LockOrder.OnEntering((LockRank)rank, isHeld: false);
        try
        {
            Assert.Throws<InvariantException>(() => log.IsEnabled(LogLevel.Error));
            Assert.Throws<InvariantException>(
                () => log.Log(LogLevel.Error, default, "text", null, static (text, _) => text));
        }
        finally
        {
            LockOrder.OnExited(before);
        }

        Assert.True(log.IsEnabled(LogLevel.Error));
        Assert.Empty(_logs.All);
    }

    [Fact]
    public async Task Thread_IsABackgroundThreadWithoutTheCallersContext()
    {
        var context = new AsyncLocal<string?> { Value = "caller" };
        var seen = Waiting.Signal<(bool, string?, string?)>();

        ThreadRoot.Start("name", () => seen.SetResult((
            Thread.CurrentThread.IsBackground, Thread.CurrentThread.Name, context.Value)), _logs.CreateLogger(""));

        Assert.Equal((true, "name", null), await seen.Task.Within("the thread"));
    }

    /// <summary>
    /// The limit applies to waiting lines, not to all lines ever written, and lost lines do not count.
    /// </summary>
    [Fact]
    public async Task RecordLog_WrittenInPiecesThatAreRead_LosesNothingMore()
    {
        using var loggers = LoggerFactory.Create(builder => builder.AddProvider(_logs).SetMinimumLevel(LogLevel.Trace));
        var log = RecordLog.Create(loggers)!;
        var line = new string('x', 3 * 1024 * 1024);
        log.Write(new string('y', 9 * 1024 * 1024));

        for (var i = 1; i <= 6; i++)
        {
            log.Write(line);
            var count = i;
            await Waiting.UntilAsync(
                () => _logs.All.Count(static entry => entry.EventName == "Record") == count, "the line");
        }

        log.Complete();
        Assert.Contains(
            "1",
            Assert.Single(_logs.All, static entry => entry.EventName == "RecordsLost").Message,
            StringComparison.Ordinal);
        Assert.Equal(7, _logs.All.Count);
    }
}
