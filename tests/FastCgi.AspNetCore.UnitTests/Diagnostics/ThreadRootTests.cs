namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>A failure at a thread's root is logged and affects one operation; log providers cannot do harm.</summary>
public sealed class ThreadRootTests
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(20);

    [Theory, Values(false, true)]
    public void Run_ThatThrows_IsLoggedAndEndsWhatItIsAbout(bool failsToo)
    {
        using var logs = new CollectedLogs();
        object? ended = null;

        ThreadRoot.Run("it", static _ => throw new FormatException("first"), logs.CreateLogger(""), state =>
        {
            ended = state;
            if (failsToo)
                throw new FormatException("second");
        });

        Assert.Equal("it", ended);
        Assert.Equal(failsToo ? ["first", "second"] : ["first"], logs.All.Select(static log => log.Exception!.Message));
        Assert.Equal((LogLevel.Error, "ServerFailed"), (logs.All.First().Level, logs.All.First().EventName));
    }

    [Fact]
    public void Start_AThreadThatThrows_TheProcessLivesOn()
    {
        using var done = new ManualResetEventSlim();

        ThreadRoot.Start("test", static () => throw new FormatException(), new SafeLogger(new OddLogger(done.Set)));

        Assert.True(done.Wait(s_patience));
    }

    [Fact]
    public async Task Start_AMethodThatThrows_NeverFails()
    {
        Exception? seen = null;

        await ThreadRoot
            .Start(static () => throw new FormatException(), NullLogger.Instance, exception => seen = exception)
            .WaitAsync(s_patience);

        Assert.IsType<FormatException>(seen);
    }

    [Fact]
    public void SafeLogger_ProviderThatThrows_IsOnlyCounted()
    {
        var logger = new SafeLogger(new OddLogger(static () => throw new FormatException("on purpose")));

        Assert.False(logger.IsEnabled(LogLevel.Error));
        logger.Log(LogLevel.Error, default, 1, null, static (_, _) => "");
        Assert.Null(logger.BeginScope(1));

        Assert.Equal(3, logger.FailureCount);
        Assert.Same(logger, SafeLogger.Wrap(logger));
    }

    [Fact]
    public void Locks_OfTwoRequestsOrTheWrongWayRound_AreRefused()
    {
        var (request, connection) = (new RequestLock(), new Guarded<ConnectionState>(LockRank.Connection));

        Assert.Throws<InvariantException>(() =>
        {
            using (request.EnterLock())
                new RequestLock().EnterLock().Dispose();
        });
        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                request.EnterLock().Dispose();
        });
        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                new Guarded<ConnectionState>(LockRank.Connection).Enter().Dispose();
        });
        Assert.Throws<InvariantException>(() =>
        {
            using (connection.Enter())
                LockOrder.RequireNone("A log provider");
        });
        Assert.Throws<InvariantException>(() =>
        {
            using var scope = connection.Enter();
            scope.Require(new Guarded<ConnectionState>(LockRank.Connection));
        });
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
