namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Two threads at the same point, again and again: races that need an unlucky moment.</summary>
public sealed class RaceTests
{
    private const int Rounds = 20_000;

    [Fact]
    public async Task RequestAborted_FetchedWhileTheRequestIsAborted_IsCancelled()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.UntilAborted);
        using var pair = new TwoThreads();
        var tokens = new List<CancellationToken>();
        for (var round = 0; round < Rounds / 10; round++)
        {
            var ready = frontEnd.Receive(RecordBytes.Get());
            var request = (FastCgiRequest)ready.RemoveFirst();
            Assert.True(request.TryClaim());
            CancellationToken token = default;

            pair.Run(
                () => frontEnd.Receive(RecordBytes.Abort()),
                () => token = ((IHttpRequestLifetimeFeature)request).RequestAborted);

            Assert.True(token.CanBeCanceled);
            tokens.Add(token);
            request.Complete(exception: null);
        }

        await Waiting.UntilAsync(
            () => tokens.TrueForAll(static token => token.IsCancellationRequested), "all tokens to be cancelled");
    }

    /// <summary>
    /// The thread returns while the watchdog takes its loop: exactly one of them gets it, and the count is correct.
    /// </summary>
    [Fact]
    public void HandOver_OfACallThatEnds_CountsTheThreadThatLosesTheLoop()
    {
        var scheduler = CreateScheduler(new SteppedPlatform());
        using var pair = new TwoThreads();
        var probe = new FakeProbe { Sleeps = true };
        var handOvers = 0;
        for (var round = 0; round < Rounds; round++)
        {
            var worker = scheduler.CreateWorker();
            worker.Probe = probe.Probe;
            scheduler.Lend(worker, new TestLoop());
            worker.Enter(response: null, new PathKey("/"));
            scheduler.Watchdog.Sample();
            var permit = Permit.None;

            pair.Run(
                () =>
                {
                    // Before or after the sample of the other thread.
                    Thread.SpinWait(round % 100);
                    permit = worker.Leave();
                },
                () => scheduler.Watchdog.Sample());

            handOvers += permit == Permit.Thread ? 1 : 0;
            Assert.Equal(permit == Permit.Thread ? 1 : 0, scheduler.Workers.BlockedCount);
            Assert.Equal(permit == Permit.Loop, worker.Loop is not null);
            scheduler.GiveBack(worker);
        }

        Assert.Equal(handOvers, scheduler.Watchdog.HandOverCount);
    }

    private static RequestScheduler CreateScheduler(SteppedPlatform platform)
        => new(
            new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = 2 * Rounds },
            platform,
            TimeProvider.System,
            NullLogger.Instance);
}
