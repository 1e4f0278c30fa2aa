namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>How the epoll engine and its listeners begin and end, and what they leave behind.</summary>
[SupportedOSPlatform("linux")]
public sealed class EpollLifetimeTests
{
    [Fact]
    public async Task Engine_StoppedBeforeItStarts_GivesBackItsLoops()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Transport.LoopCount = 2);
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        Assert.Equal(2, engine.Loops.Count);

        engine.Stop();

        Assert.All(engine.Loops, static loop => Assert.True(loop.GetEpoll().IsClosed));
    }

    /// <summary>Their threads may wait, and end them.</summary>
    [Fact]
    public async Task Engine_Stopped_LoopsEndOnTheirThreads()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Transport.LoopCount = 2);
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        engine.Start();

        engine.Stop();

        Assert.All(engine.Loops, static loop => Assert.True(IsStopping(loop)));
        await Waiting.UntilAsync(() => engine.Loops.All(static loop => loop.GetEpoll().IsClosed), "the loops to end");
    }

    [Theory, Values(true, false)]
    public async Task Accept_OverTcpOrNot_ConnectionCanBeReset(bool isTcp)
    {
        await using var hand = await HandListener.StartAsync(isTcp: isTcp);
        var client = Assert.Single(hand.Connect(1));
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 1, "the connection");

        var stopping = hand.Server.StopAsync(new CancellationToken(canceled: true));
        hand.Loop.TurnUntil(() => stopping.IsCompleted && hand.Server.Connections.Count == 0, "the end");

        if (isTcp)
            Assert.Equal(SocketError.ConnectionReset, client.GetError());
        else
            Assert.Equal(0, client.Receive(new byte[1]));
    }

    /// <summary>It has its place by then, which others need.</summary>
    [Fact]
    public async Task Accept_ServerFailsWithTheConnection_ItIsReset()
    {
        await using var hand = await HandListener.StartAsync(static options => options.Transport.LoopCount = 2);
        hand.Server.Logs.Expected.Add("ConnectionStartFailed");
        var broken = hand.Engine.Loops[1];
        var epoll = EpollOf(broken);
        var clients = hand.Connect(2);

        EpollOf(broken) = null!;
        hand.Loop.Turn();
        EpollOf(broken) = epoll;
        broken.Turn();

        await hand.Server.Logs.SingleAsync("ConnectionStartFailed");
        Assert.Equal(1, hand.Server.Connections.Count);
        Assert.Equal([false, true], clients.Select(static client => client.IsEnded()));
    }

    /// <summary>That a socket which was shut down has no more is no failure, and nobody is told of one. The spare descriptor is given back.</summary>
    [Theory, Values(true, false)]
    public async Task Stop_NothingHasFailed(bool isTcp)
    {
        await using var hand = await HandListener.StartAsync(isTcp: isTcp);
        // There is no other behind it, which the listener remembers.
        hand.Connect(1);
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 1, "the connection");

        await hand.Listener.StopAsync(default).Within("the end");

        // The first failure that is told. With a spare descriptor it would accept connections of a socket that is closed.
        FailuresOf(hand.Accepting).OnFailed(Libc.ErrorTooManyOpenFiles);
        var told = await hand.Server.Logs.SingleAsync("AcceptOutOfResources");
        Assert.Contains(Libc.GetMessage(Libc.ErrorTooManyOpenFiles), told.Message, StringComparison.Ordinal);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isStopping")]
    private static extern ref bool IsStopping(EpollLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_epoll")]
    private static extern ref EpollHandle EpollOf(EpollLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_failures")]
    private static extern ref AcceptFailures FailuresOf(EpollListener listener);
}
