namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Who waits for the first request of an application, and how long.</summary>
public sealed class ColdStartTests : IAsyncLifetime
{
    private readonly SteppedPlatform _platform = new();
    private readonly FakeClock _clock = new();
    private RequestScheduler _scheduler = null!;
    private ColdStart _coldStart = null!;
    private TestServer _server = null!;
    private FrontEnd _frontEnd = null!;
    private FastCgiRequest _first = null!;
    private FastCgiRequest _second = null!;

    public async Task InitializeAsync()
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2 };
        _scheduler = new RequestScheduler(options, _platform, _clock, NullLogger.Instance);
        _coldStart = new ColdStart(_scheduler.Workers, _clock);
        _server = await TestServer.StartAsync(Apps.Target);
        _frontEnd = _server.Connect();
        var ready = _frontEnd.Receive(RecordBytes.Get(1, "/1"), RecordBytes.Get(2, "/2"));
        _first = ready.RemoveFirst();
        _second = ready.RemoveFirst();
    }

    public async Task DisposeAsync()
    {
        // In a test, the first is passed and no more.
        _first.Execute();
        await _server.DisposeAsync();
    }

    [Fact]
    public async Task Requests_BesideTheFirst_GetThreadsWhenItReturns()
    {
        Assert.False(_coldStart.IsFirstRunning);
        Assert.True(_coldStart.TryPass(_first));
        Assert.True(_coldStart.IsFirstRunning);

        Assert.False(_coldStart.TryPass(_second));
        Assert.Empty(_platform.Started);

        _coldStart.OnReturned();
        await AssertSecondIsAnsweredAsync();
        Assert.True(_coldStart.TryPass(_first));
    }

    [Fact]
    public async Task Requests_BesideAFirstThatTakesLong_WaitForHalfASecond()
    {
        Assert.True(_coldStart.TryPass(_first));
        Assert.False(_coldStart.TryPass(_second));

        _clock.Advance(TimeSpan.FromMilliseconds(500));
        _coldStart.EndIfLate();
        Assert.Empty(_platform.Started);

        _clock.Advance(TimeSpan.FromTicks(1));
        _coldStart.EndIfLate();
        await AssertSecondIsAnsweredAsync();
    }

    /// <summary>Nobody has asked for anything: the first request is still to come.</summary>
    [Fact]
    public void EndIfLate_BeforeTheFirst_EndsNothing()
    {
        _clock.Advance(TimeSpan.FromHours(1));
        _coldStart.EndIfLate();

        Assert.True(_coldStart.TryPass(_first));
        Assert.False(_coldStart.TryPass(_second));
        _coldStart.End();
        Step();
    }

    private async Task AssertSecondIsAnsweredAsync()
    {
        Assert.False(_coldStart.IsFirstRunning);
        Step();
        Assert.Equal("GET /2", (await _frontEnd.ReadResponseAsync(2)).Text);
    }

    private void Step() => _platform.RunAll();
}
