namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>The fate of connections that the epoll engine accepts or refuses.</summary>
public sealed class EpollListenerTests
{
    [Fact]
    public async Task Accept_SeveralLoops_EachHasAsMany()
    {
        await using var hand = await HandListener.StartAsync(static options => options.Transport.LoopCount = 3);
        var sources = hand.Loops.Select(static loop => loop.SourceCount).Distinct().Single();

        hand.Connect(6);
        hand.Loops[2].Turn();

        Assert.Equal(6, hand.Server.Connections.Count);
        Assert.All(hand.Loops, loop => Assert.Equal(sources + 2, loop.SourceCount));
    }

    [Fact]
    [Contract("G2", "I24")]
    public async Task Accept_AtTheConnectionLimit_ConnectionIsClosedUntilOneLeaves()
    {
        await using var hand = await HandListener.StartAsync(
            static options => options.Limits.MaxConcurrentConnections = 1);
        var clients = hand.Connect(3);

        hand.Loop.Turn();

        Assert.Equal((1, 2), (hand.Server.Connections.Count, hand.Server.Context.Counters.RejectedConnections));
        Assert.Equal([false, true, true], clients.Select(static client => client.IsEnded()));
        Assert.Equal(LogLevel.Warning, (await hand.Server.Logs.SingleAsync("ConnectionRejected")).Level);

        clients[0].Dispose();
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 0, "the end of the first");
        hand.Connect(1);
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 1, "the next");
    }

    /// <summary>
    /// Each is closed at once, however many arrive, and the next is served as soon as descriptors are free. If other
    /// processes share the socket, they may accept the rest, so the listener waits.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task Accept_BeyondTheDescriptors_ClosedAtOnceAndNextIsServed(bool isShared)
    {
        await using var hand = await HandListener.StartAsync(isShared: isShared);
        hand.Server.GetMaxDescriptors = static () => 3;
        var clients = hand.Connect(200);
        for (var i = 0; i < 4; i++)
            hand.Loop.Turn();

        Assert.Equal(isShared ? 1 : 200, clients.Count(static client => client.IsEnded()));
        Assert.Equal(isShared ? 1 : 200, hand.Server.Context.Counters.RejectedConnections);
        await hand.Server.Logs.SingleAsync("AcceptOutOfResources");
        hand.Server.GetMaxDescriptors = static () => int.MaxValue;
        hand.Connect(1);
        if (isShared)
            hand.Server.Clock.Advance(AcceptFailures.RetryDelay);
        hand.Loop.Turn();
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == (isShared ? 200 : 1), "the next");
    }

    [Fact]
    public async Task Accept_ServerFails_ConnectionIsClosedAndTheNextIsAccepted()
    {
        await using var hand = await HandListener.StartAsync(
            peers: new PeerPolicy { Users = new UserList(static () => throw new OutOfMemoryException("on purpose")) });
        hand.Server.Logs.Expected.Add("ConnectionStartFailed");
        var clients = hand.Connect(2);

        hand.Loop.Turn();

        Assert.All(clients, static client => Assert.True(client.IsEnded()));
        Assert.IsType<OutOfMemoryException>((await hand.Server.Logs.SingleAsync("ConnectionStartFailed")).Exception);
    }

    /// <summary>The accept in progress needs the socket: closing it early would log a spurious error.</summary>
    [Theory, Values(false, true)]
    public async Task Stop_TimesOutDuringAnAccept_SocketIsClosedAfterItAndNothingFails(bool isServerOver)
    {
        var isAsked = Waiting.Signal();
        using var release = new ManualResetEventSlim();
        await using var hand = await HandListener.StartAsync(
            static options => options.Transport.LoopCount = 2, peers: HoldAccept(isAsked, release));
        var clients = hand.Connect(3);
        var turn = Task.Run(hand.Loop.Turn);
        await isAsked.Task.Within("the accept");

        await hand.Listener.StopAsync(new CancellationToken(canceled: true));
        Assert.False(hand.Socket.SafeHandle.IsClosed);
        if (isServerOver)
            await hand.Server.Connections.StopAsync(new CancellationToken(canceled: true));
        release.Set();
        await turn;

        await Waiting.UntilAsync(() => hand.Socket.SafeHandle.IsClosed, "the socket to be closed");
        if (isServerOver)
        {
            Assert.All(clients, static client => Assert.True(client.IsEnded()));
            Assert.Equal(0, hand.Server.Connections.Count);
        }

        Assert.DoesNotContain(hand.Server.Logs.All, static log => log.Level >= LogLevel.Error);
    }

    [Fact]
    public async Task Accept_SystemDoesNotWaitForTheConnection_ItIsClosedAndReported()
    {
        await using var hand = await HandListener.StartAsync(static options => options.Transport.LoopCount = 2);
        hand.Loops[1].GetEpoll().Dispose();
        var clients = hand.Connect(2);

        hand.Loop.Turn();

        Assert.Equal(1, hand.Server.Connections.Count);
        Assert.Equal([false, true], clients.Select(static client => client.IsEnded()));
        var warning = await hand.Server.Logs.SingleAsync("ConnectionNotWatched");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Contains("fs.epoll.max_user_watches", warning.Message);
    }

    [Fact]
    public async Task Start_SystemRefuses_ThrowsWithTheEndpoint()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Transport.LoopCount = 1);
        var engine = new Engine(server.Connections, server.Scheduler, _ => LoopByHand.Create(server));
        using var socket = TestSockets.ListenTcp();
        var listener = new EpollListener(
            engine, new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! });
        ((EpollLoop)engine.Loops[0]).GetEpoll().Dispose();

        var error = Assert.Throws<IOException>(listener.Start);

        Assert.Contains(socket.LocalEndPoint!.ToString()!, error.Message);
        await listener.StopAsync(default);
        engine.Stop();
    }

    /// <summary>The web server has opened them, and perhaps used them.</summary>
    [Theory]
    [InlineData(false, false, false, 100)]
    [InlineData(false, true, false, 100)]
    [InlineData(false, false, true, 100)]
    [InlineData(false, true, true, 100)]
    [InlineData(true, false, false, 0)]
    [InlineData(false, false, false, 0, false)]
    public async Task Stop_ConnectionsThatWait_AreAcceptedUnlessTheNextProcessDoesOrItHasNotStarted(
        bool isPassedOn, bool isShared, bool isTcp, int accepted, bool starts = true)
    {
        await using var hand = await HandListener.StartAsync(
            isPassedOn: isPassedOn, isShared: isShared, isTcp: isTcp, starts: starts);
        hand.Connect(100);

        await hand.Listener.StopAsync(default).Within("the end");

        Assert.Equal(accepted, hand.Server.Connections.Count);
        Assert.True(hand.Socket.SafeHandle.IsClosed);
        Assert.Null(hand.Loop.GetInterest((int)hand.Descriptor));
        Assert.Empty(hand.Server.Logs.Warnings);
    }

    [Fact]
    public async Task Stop_AcceptThrows_IsReportedAndTheListenerEnds()
    {
        await using var hand = await HandListener.StartAsync(isShared: true);
        hand.Socket.Dispose();
        hand.Server.Logs.Expected.Add("ConnectionStartFailed");

        await hand.Listener.StopAsync(default).Within("the end");

        Assert.IsType<ObjectDisposedException>((await hand.Server.Logs.SingleAsync("ConnectionStartFailed")).Exception);
    }

    [Theory, Values(true, false)]
    public async Task Accept_SocketIsShutDownByAnother_OneWarningAndTheNextAttemptByTheClock(bool isTcp)
    {
        await using var hand = await HandListener.StartAsync(isTcp: isTcp);
        hand.Connect(1);
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 1, "the connection");
        hand.Socket.Shutdown(SocketShutdown.Receive);

        // Another loop may have been faster, once.
        for (var i = 0; i < 3; i++)
            hand.Loop.Turn();

        Assert.Null(hand.Loop.GetInterest((int)hand.Descriptor));
        var warning = await hand.Server.Logs.SingleAsync("AcceptOutOfResources");
        Assert.Contains("See accept(2)", warning.Message);
        hand.Server.Clock.Advance(AcceptFailures.RetryDelay);
        hand.Loop.Turn();
        Assert.NotNull(hand.Loop.GetInterest((int)hand.Descriptor));
    }

    [Fact]
    public async Task Accept_EmptyQueueRepeatedly_IsNotAFailure()
    {
        await using var hand = await HandListener.StartAsync(static options => options.Transport.LoopCount = 2);
        var interest = hand.Loop.GetInterest((int)hand.Descriptor);
        hand.Connect(1);
        hand.Loops[1].Turn();

        for (var i = 0; i < 5; i++)
        {
            using var other = TestSockets.Connect(hand.Socket.LocalEndPoint!);
            // Another process has accepted the connection since the event.
            using var taken = hand.Socket.Accept();
            hand.Loop.Turn();
        }

        Assert.Equal(interest, hand.Loop.GetInterest((int)hand.Descriptor));
        Assert.Empty(hand.Server.Logs.Named("AcceptOutOfResources"));
    }

    /// <summary>Keeps the accept from continuing.</summary>
    private static PeerPolicy HoldAccept(TaskCompletionSource isAsked, ManualResetEventSlim release) => new()
    {
        Users = new UserList(() =>
        {
            isAsked.TrySetResult();
            release.Wait(Waiting.Patience);
            return 0;
        }),
    };

    /// <summary>The system has no memory to inspect the queue.</summary>
    private sealed class UserList(Func<int> count) : IReadOnlyList<uint>
    {
        public int Count => count();

        public uint this[int index] => throw new NotSupportedException();

        public IEnumerator<uint> GetEnumerator() => throw new NotSupportedException();

        System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();
    }
}
