namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>The server's threads survive failed steps and interrupts.</summary>
public sealed class ThreadPlatformTests : IDisposable
{
    private readonly CollectedLogs _logs = new();
    private readonly EndingPlatform _platform;

    public ThreadPlatformTests() => _platform = new EndingPlatform(_logs.CreateLogger(""));

    public void Dispose() => _logs.Dispose();

    [Fact]
    public async Task Step_Fails_IsLoggedAndTheThreadContinues()
    {
        var steps = 0;

        _platform.Start(
            "test", new Body(() => ++steps == 1 ? throw new InvalidOperationException("on purpose") : null));
        await _platform.Ended.Task.Within("the end of the thread");

        Assert.Equal(2, steps);
        Assert.Equal("ServerFailed", Assert.Single(_logs.All).EventName);
    }

    [Fact]
    public async Task Wait_IsInterrupted_ThreadContinues()
    {
        var steps = 0;

        _platform.Start("test", new Body(() =>
        {
            Thread.CurrentThread.Interrupt();
            return ++steps == 1 ? TimeSpan.FromHours(1) : null;
        }));
        await _platform.Ended.Task.Within("the end of the thread");

        Assert.Equal(2, steps);
        Assert.Empty(_logs.All);
    }

    [Fact]
    public void Wait_Woken_TakesTheWakeUp()
    {
        var body = new Body(static () => null);
        body.Wake();
        body.Wait(Timeout.InfiniteTimeSpan);

        Assert.False(body.IsWoken);
    }

    private sealed class EndingPlatform(ILogger log) : ThreadPlatform(log)
    {
        public TaskCompletionSource Ended { get; } = Waiting.Signal();

        protected override void OnEnding() => Ended.SetResult();
    }

    private sealed class Body(Func<TimeSpan?> step) : ThreadBody
    {
        public override TimeSpan? Step() => step();
    }
}
