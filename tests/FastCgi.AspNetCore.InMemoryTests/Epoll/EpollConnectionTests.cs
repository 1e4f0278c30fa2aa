namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>How a connection of the epoll engine receives, pauses and ends, event by event.</summary>
public sealed class EpollConnectionTests
{
    private const uint Input = Libc.EpollIn | Libc.EpollPeerHangUp | Libc.EpollEdgeTriggered;

    // SO_SNDBUFFORCE.
    private const int SendBufferForced = 32;

    /// <summary>An event that the socket can send says nothing about data to receive.</summary>
    [Fact]
    public async Task Event_SocketCanSend_NothingIsReceived()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        hand.Peer.Send(RecordBytes.Get());

        hand.Connection.OnEvent(Libc.EpollOut);

        Assert.True(Libc.HasInput(hand.Descriptor));
        hand.Loop.Turn();
        Assert.Equal("Hello", hand.GetText());
    }

    /// <summary>One event reports everything that has arrived.</summary>
    [Theory]
    [Values(
        EpollLoop.ReceiveBufferLength - 1, EpollLoop.ReceiveBufferLength, EpollLoop.ReceiveBufferLength + 1,
        (2 * EpollLoop.ReceiveBufferLength) + 1)]
    public async Task Receive_AboutAsMuchAsTheBufferTakes_AllOfItAtOneEvent(int length)
    {
        await using var hand = await HandConnection.StartAsync(Apps.BodyHash);
        var body = Apps.Pattern(length);
        byte[] request = [];
        // Shortened so that the whole request has this length.
        while ((request = RecordBytes.Post(1, "/", body)).Length > length)
            body = body[..^(request.Length - length)];
        hand.Peer.Blocking = false;
        Assert.Equal(request.Length, hand.Peer.Send(request));

        hand.Loop.Turn();

        Assert.False(Libc.HasInput(hand.Descriptor));
        hand.Loop.TurnUntil(() => hand.GetText() is not null, "the answer");
        Assert.Equal(Apps.HashOf(body), hand.GetText());
    }

    /// <summary>The loop's other connections have their turn; then it continues without a new event.</summary>
    [RootFact]
    public async Task Receive_PeerFillsTheBufferAgainAndAgain_InSeveralTurns()
    {
        const int TurnLength = 16 * EpollLoop.ReceiveBufferLength;
        await using var hand = await HandConnection.StartAsync(
            Apps.BodyHash, configure: static options => options.Limits.MaxRequestBufferSize = null);
        var request = RecordBytes.Post(1, "/", Apps.Pattern(TurnLength + 100_000));
        hand.Peer.SetRawSocketOption(1, SendBufferForced, BitConverter.GetBytes(16 * 1024 * 1024));
        hand.Peer.Blocking = false;
        Assert.Equal(request.Length, hand.Peer.Send(request));

        hand.Loop.Turn();
        using (var socket = new Socket(new SafeSocketHandle(hand.Descriptor, ownsHandle: false)))
            Assert.Equal(request.Length - TurnLength, socket.Available);

        hand.Loop.Turn();
        Assert.False(Libc.HasInput(hand.Descriptor));
        hand.Loop.TurnUntil(() => hand.GetText() is not null, "the answer");
        Assert.Equal(Apps.HashOf(Apps.Pattern(TurnLength + 100_000)), hand.GetText());
    }

    [Fact]
    public async Task Receive_Paused_NothingIsReceivedUntilTheApplicationHasRead()
    {
        var go = Waiting.Signal();
        await using var hand = await StartPausedAsync(go.Task);

        hand.Peer.Send(new byte[1]);
        hand.Loop.Turn();
        Assert.True(Libc.HasInput(hand.Descriptor));
        Assert.Null(hand.GetText());

        go.SetResult();
        hand.Loop.TurnUntil(() => !Libc.HasInput(hand.Descriptor), "receiving to continue");
        Assert.True(hand.IsOpen);
    }

    [Fact]
    public async Task Receive_PausedAndThePeerIsGone_ConnectionEnds()
    {
        var go = Waiting.Signal();
        await using var hand = await StartPausedAsync(go.Task);

        hand.Peer.Dispose();
        hand.Loop.Turn();

        Assert.False(hand.IsOpen);
        go.SetResult();
    }

    /// <summary>Without the registration, the loop would never receive.</summary>
    [Fact]
    public async Task Resume_SystemRefuses_ConnectionIsReset()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true, isWatched: false);

        hand.Connection.ResumeReceiving();
        hand.Loop.Turn();

        Assert.False(hand.IsOpen);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
        // It may come late.
        hand.Connection.ResumeReceiving();
        Assert.Equal(0, PostedOf(hand.Connection));
    }

    /// <summary>
    /// The listener has counted the connection, and its loop does not wait for it yet. If it is closed now, its
    /// descriptor number could belong to another connection when the loop registers it.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task Start_EndedBefore_EndsAfterIt(bool isReset)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true, isStarted: false);
        var sources = hand.Loop.SourceCount;
        var stopping = Task.CompletedTask;
        if (isReset)
            hand.Connection.Connection.Fail();
        else
            stopping = hand.Server.Connections.StopAsync(new CancellationToken(canceled: true));

        hand.Loop.Turn();

        Assert.True(hand.IsOpen);
        Assert.True(Descriptors.IsOpen(hand.Descriptor));
        hand.Connection.Start();
        hand.Loop.Turn();
        await stopping.Within("the stop");
        Assert.False(hand.IsOpen);
        Assert.Equal(sources, hand.Loop.SourceCount);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
    }

    /// <summary>Without memory, a step between the two may fail.</summary>
    [Theory, Values(false, true)]
    public async Task GiveUp_Connection_IsResetAndTheLoopContinues(bool isStarted)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true, isStarted: isStarted);
        var sources = hand.Loop.SourceCount;

        hand.Connection.GiveUp();
        hand.Loop.Turn();

        Assert.False(hand.IsOpen);
        Assert.Equal(isStarted ? sources - 1 : sources, hand.Loop.SourceCount);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
    }

    [Theory]
    [InlineData("close", typeof(ConnectionResetException), "The web server closed the connection.", false)]
    [InlineData("shutdown", typeof(ConnectionResetException), "The web server closed the connection.", false)]
    [InlineData("reset", typeof(ConnectionResetException), "The connection was lost.", true)]
    [InlineData("ours", typeof(ConnectionAbortedException), "The connection was closed by the server.", false)]
    public async Task End_WhileTheBodyIsRead_ErrorNamesItsCause(string how, Type type, string message, bool hasInner)
    {
        var error = Waiting.Signal<Exception?>();
        await using var hand = await HandConnection.StartAsync(
            async context => error.SetResult(
                await Record.ExceptionAsync(() => context.Request.Body.CopyToAsync(Stream.Null))),
            isTcp: true);
        hand.Peer.Send(RecordBytes.Post(1, "/", new byte[100]).AsSpan()[..^50]);
        hand.Loop.TurnUntil(() => hand.Server.Connections.CountRequests() == 1, "the request");
        // An earlier event may already have led to the receive.
        hand.Connection.OnEvent(Libc.EpollIn);

        switch (how)
        {
            case "shutdown":
                hand.Peer.Shutdown(SocketShutdown.Send);
                break;
            case "reset":
                hand.Peer.LingerState = new LingerOption(true, 0);
                goto case "close";
            case "close":
                hand.Peer.Dispose();
                break;
            default:
                hand.Connection.Connection.Fail();
                break;
        }

        hand.Loop.TurnUntil(() => !hand.IsOpen, "the end");
        var told = await error.Task.Within("the error");
        Assert.IsType(type, told);
        Assert.Equal(message, told!.Message);
        Assert.Equal(hasInner, told.InnerException is not null);
    }

    /// <summary>Further input is dropped, so that the web server does not discard the response.</summary>
    [Theory, Values(false, true)]
    public async Task Answer_BeforeTheEndOfTheRequest_WhatFollowsIsDroppedUntilThePeerEnds(bool isPaused)
    {
        var go = Waiting.Signal();
        await using var hand = await HandConnection.StartAsync(
            Apps.HelloAfter(go.Task),
            configure: options => options.Limits.MaxRequestBufferSize = isPaused ? 1_024 : null);
        hand.Peer.Send(RecordBytes.Post(1, "/", new byte[20_000], keepConnection: false).AsSpan()[..10_000]);
        hand.Loop.Turn();
        Assert.Equal(isPaused, hand.Connection.Connection.IsReceivePaused);
        Assert.Null(hand.GetText());

        go.SetResult();
        hand.Loop.TurnUntil(() => hand.GetText() is not null, "the answer");
        hand.Loop.TurnUntil(() => hand.Peer.Poll(TimeSpan.Zero, SelectMode.SelectRead), "the end of our side");
        Assert.Equal(0, hand.Peer.Receive(new byte[1]));
        Assert.True(hand.IsOpen);

        hand.Peer.Send(new byte[1_000]);
        hand.Loop.Turn();
        Assert.False(Libc.HasInput(hand.Descriptor));
        Assert.True(hand.IsOpen);
        hand.Peer.Shutdown(SocketShutdown.Send);
        hand.Loop.Turn();
        Assert.False(hand.IsOpen);
    }

    /// <summary>The event of the peer's end may have come before, and does not come again.</summary>
    [Theory, Values(true, false)]
    public async Task HalfClose_PeerHasEndedBefore_ConnectionEndsAtOnce(bool isOneSide)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        hand.Peer.Send(RecordBytes.Post(1, "/", new byte[100], keepConnection: false).AsSpan()[..^50]);
        hand.Receive();
        if (isOneSide)
            hand.Peer.Shutdown(SocketShutdown.Send);
        else
            hand.Peer.Dispose();

        hand.Connection.TakeTurn();

        Assert.False(hand.IsOpen);
    }

    /// <summary>
    /// The lock of the connection is taken once to begin the close, once to decide, and once to close. The counts are
    /// those of this thread.
    /// </summary>
    [Fact]
    public async Task Leave_Idle_ConnectionIsResetWithThreeLocks()
    {
        var before = Invariants.LockCount;
        await using var hand = await StartLeavingAsync(() => before = Invariants.LockCount);

        hand.Loop.Turn();

        var count = Invariants.LockCount - before;
        Assert.False(hand.IsOpen);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
        Assert.Equal(3, count);
    }

    [Fact]
    public async Task Leave_ARequestHasCome_ItIsAnsweredFirst()
    {
        await using var hand = await StartLeavingAsync();
        hand.Peer.Send(RecordBytes.Get(2));
        Assert.True(SpinWait.SpinUntil(() => Libc.HasInput(hand.Descriptor), Waiting.Patience));

        hand.Connection.TakeTurn();
        Assert.True(hand.IsOpen);
        hand.Loop.TurnUntil(() => !hand.IsOpen, "the end");

        Assert.Equal("Hello", hand.GetText(2));
        Assert.Equal(0, hand.Peer.Receive(new byte[1]));
    }

    /// <summary>In any order, and from any thread.</summary>
    [Theory, Values(true, false)]
    public async Task Reset_AndClose_ResetIsStronger(bool resetsFirst)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true);
        // Nothing has ended yet, so a close by itself does nothing.
        hand.Connection.TakeTurn();
        hand.Loop.Turn();
        Assert.True(hand.IsOpen);

        if (resetsFirst)
            hand.Connection.Connection.Fail();
        hand.Connection.TakeTurn();
        if (!resetsFirst)
            hand.Connection.Connection.Fail();
        hand.Loop.Turn();

        Assert.False(hand.IsOpen);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
    }

    [Theory, Values(true, false)]
    public async Task Peer_IsDescribedAsLongAsTheConnectionIsOpen(bool isTcp)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp);
        var connection = hand.Connection;

        Assert.Equal(isTcp, connection.CanReset);
        Assert.Contains(
            isTcp ? hand.Peer.LocalEndPoint!.ToString()! : $"process {Environment.ProcessId} (",
            connection.DescribePeer());
        connection.CloseNow();

        Assert.Equal("an unknown peer", connection.DescribePeer());
        Assert.True(hand.Peer.Poll(Waiting.Patience, SelectMode.SelectRead));
        Assert.True(hand.Peer.IsEnded());
    }

    /// <summary>The number of its descriptor is another connection's by then.</summary>
    [Fact]
    public async Task Close_Twice_SecondDoesNothing()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        var sources = hand.Loop.SourceCount;
        hand.Connection.CloseNow();
        Assert.Equal(sources - 1, hand.Loop.SourceCount);
        Assert.True(hand.Peer.IsEnded());

        hand.Connection.CloseNow();
        hand.Connection.Connection.Fail();
        hand.Loop.Turn();

        Assert.Equal(sources - 1, hand.Loop.SourceCount);
    }

    /// <summary>The application has half of a body, and does not read on.</summary>
    private static async Task<HandConnection> StartPausedAsync(Task go)
    {
        var hand = await HandConnection.StartAsync(
            async context =>
            {
                await go;
                await context.Request.Body.CopyToAsync(Stream.Null);
            },
            configure: static options => options.Limits.MaxRequestBufferSize = 1_024);
        hand.Peer.Send(RecordBytes.Post(1, "/", new byte[20_000]).AsSpan()[..10_000]);
        hand.Loop.Turn();
        Assert.True(hand.Connection.Connection.IsReceivePaused);
        return hand;
    }

    /// <summary>The server stops, and the loop has not run since.</summary>
    private static async Task<HandConnection> StartLeavingAsync(Action? beforeTheStop = null)
    {
        var hand = await HandConnection.StartAsync(
            Apps.Hello,
            isTcp: true,
            configure: static options => options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero);
        hand.Peer.Send(RecordBytes.Get());
        hand.Loop.TurnUntil(() => hand.GetText() is not null, "the answer");
        beforeTheStop?.Invoke();
        _ = hand.Server.StopAsync();
        return hand;
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_posted")]
    private static extern ref int PostedOf(LoopConnection connection);
}
