namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>
/// A failure at a thread's root is logged and affects one operation. Foreign code, such as log providers, is called
/// without a lock, and its failure ends nothing else.
/// </summary>
public sealed class ThreadRootTests : IDisposable
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(20);

    private readonly CollectedLogs _logs = new();

    public void Dispose() => _logs.Dispose();

    [Theory, Values(false, true)]
    public void Run_Throws_IsLoggedAndEndsItsSubject(bool failsToo)
    {
        object? ended = null;

        ThreadRoot.Run("it", static _ => throw new FormatException("first"), _logs.CreateLogger(""), state =>
        {
            ended = state;
            if (failsToo)
                throw new FormatException("second");
        });

        Assert.Equal("it", ended);
        string[] messages = failsToo ? ["first", "second"] : ["first"];
        Assert.Equal(messages, _logs.All.Select(static log => log.Exception!.Message));
        Assert.Equal((LogLevel.Error, "ServerFailed"), (_logs.All.First().Level, _logs.All.First().EventName));
    }

    [Fact]
    public void Start_ThreadThrows_ProcessSurvives()
    {
        using var done = new ManualResetEventSlim();

        var log = new EventJournal(new OddLogger(done.Set), TimeProvider.System);
        ThreadRoot.Start("test", static () => throw new FormatException(), log);

        Assert.True(done.Wait(s_timeout));
    }

    [Fact]
    public async Task Start_MethodThrows_IsOnlyLogged()
    {
        await ThreadRoot.Start(static () => throw new FormatException(), _logs.CreateLogger("")).WaitAsync(s_timeout);

        Assert.IsType<FormatException>(Assert.Single(_logs.All).Exception);
    }

    [Fact]
    public void Log_ProviderThrows_IsNotTheCallersProblem()
    {
        var provider = new OddLogger(static () => throw new FormatException("on purpose"));
        var logger = new EventJournal(provider, TimeProvider.System);

        Assert.False(logger.IsEnabled(LogLevel.Debug));
        logger.Log(LogLevel.Error, default, 1, null, static (_, _) => "");
        Assert.Null(logger.BeginScope(1));
    }

    [Fact]
    public void Lock_InsideAnotherOrAroundForeignCode_IsRefused()
    {
        var connection = new Guarded<ConnectionState>();

        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                new Guarded<ConnectionState>().Enter().Dispose();
        });
        Invariants.OnUnlocked();
        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                connection.Enter().Dispose();
        });
        Invariants.OnUnlocked();
        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                Invariants.RequireNoLock("A log provider");
        });
        Assert.Throws<InvariantException>(() =>
        {
            using var scope = connection.Enter();
            scope.Require(new Guarded<ConnectionState>());
        });
    }

    [Fact]
    public void LogProvider_WithALockHeld_IsAViolation()
    {
        var log = new EventJournal(_logs.CreateLogger(""), TimeProvider.System);
        using (new Guarded<ConnectionState>().Enter())
        {
            Assert.Throws<InvariantException>(() => log.IsEnabled(LogLevel.Error));
            Assert.Throws<InvariantException>(
                () => log.Log(LogLevel.Error, default, "text", null, static (text, _) => text));
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

    private sealed class OddLogger(Action act) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull
        {
            act();
            return null;
        }

        public bool IsEnabled(LogLevel logLevel)
        {
            act();
            return true;
        }

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception,
            Func<TState, Exception?, string> formatter) => act();
    }
}
