namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>The epoll engine when the socket's send buffer is full.</summary>
public sealed class EpollSendTests
{
    private static readonly byte[] s_body = Apps.Pattern(300_000);

    [Fact]
    public async Task Response_LargerThanTheSocketAccepts_ContinuesWhenItIsReceived()
    {
        await using var hand = await StartAsync();
        hand.Peer.Send(RecordBytes.Get());

        hand.Loop.Turn();
        Assert.NotEqual(0u, hand.Interest & Libc.EpollOut);
        hand.Loop.TurnUntil(() => hand.GetBody() is not null, "the response");

        Assert.Equal(s_body, hand.GetBody());
        // Waiting for the event would be useless.
        Assert.Equal(0u, hand.Interest & Libc.EpollOut);
        Assert.NotEqual(0u, hand.Interest & Libc.EpollIn);
        hand.Peer.Send(RecordBytes.Get(2));
        hand.Loop.TurnUntil(() => hand.GetBody(2) is not null, "the next response");
        Assert.Equal(s_body, hand.GetBody(2));
    }

    /// <summary>Receiving continues meanwhile, and the event for the rest of the response still comes.</summary>
    [Fact]
    public async Task Resume_WhileTheSocketIsFull_WaitsForBoth()
    {
        await using var hand = await StartAsync();
        hand.Peer.Send(RecordBytes.Get());
        hand.Loop.Turn();
        var interest = hand.Interest;
        Assert.NotEqual(0u, interest & Libc.EpollOut);

        hand.Connection.ResumeReceiving();
        hand.Loop.Turn();

        Assert.True(hand.IsOpen);
        Assert.Equal(interest, hand.Interest);
        hand.Loop.TurnUntil(() => hand.GetBody() is not null, "the response");
        hand.Connection.ResumeReceiving();
        Assert.Equal(0u, hand.Interest & Libc.EpollOut);
    }

    /// <summary>The peer would mistake later bytes for the lost ones.</summary>
    [Fact]
    public async Task Send_SystemDoesNotReportSpace_NothingMoreIsSentAndTheConnectionIsReset()
    {
        await using var hand = await StartAsync(isWatched: false);
        hand.Peer.Send(RecordBytes.Get());
        hand.Receive();
        Assert.InRange(hand.Take(), 1, s_body.Length - 1);

        hand.Peer.Send(RecordBytes.Get(2));
        hand.Receive();

        Assert.Equal(0, hand.Take());
        hand.Loop.Turn();
        Assert.False(hand.IsOpen);
        Assert.True(hand.Peer.IsEnded());
        await hand.Server.AssertNothingIsRentedAsync();
    }

    [Fact]
    public async Task Send_PeerGoesWhileTheSocketIsFull_ConnectionEndsAndNothingIsLeft()
    {
        await using var hand = await StartAsync();
        hand.Peer.Send(RecordBytes.Get());
        hand.Loop.Turn();

        hand.Peer.Dispose();
        // Without the event of the peer's end, which may come later.
        hand.Connection.OnEvent(Libc.EpollOut);
        hand.Connection.TakeTurn();

        Assert.False(hand.IsOpen);
        await hand.Server.AssertNothingIsRentedAsync();
    }

    [Fact]
    public async Task Close_WhileTheSocketIsFull_NothingIsLeft()
    {
        await using var hand = await StartAsync();
        hand.Peer.Send(RecordBytes.Get());
        hand.Loop.Turn();

        hand.Connection.Connection.Fail();
        hand.Loop.Turn();
        // It may come late.
        hand.Connection.OnEvent(Libc.EpollOut);

        Assert.False(hand.IsOpen);
        Assert.True(hand.Peer.IsEnded());
        await hand.Server.AssertNothingIsRentedAsync();
    }

    /// <summary>If the system does not enlarge the buffer, the ending of a cut response waits for the peer.</summary>
    [RootFact]
    public async Task Abort_SocketIsFull_EndingFollowsWhenThePeerReads()
    {
        const int SocketLevel = 1;
        const int SendBufferForced = 32;
        HttpContext? context = null;
        var body = Apps.Pattern(20_000_000);
        await using var hand = await HandConnection.StartAsync(async running =>
        {
            context = running;
            await running.Response.Body.WriteAsync(body);
            await Apps.UntilAborted(running);
        });
        // More than an ordinary user may set, so setting that is a reduction.
        using (var socket = new Socket(new SafeSocketHandle(hand.Descriptor, ownsHandle: false)))
            socket.SetRawSocketOption(SocketLevel, SendBufferForced, BitConverter.GetBytes(100 * 1024 * 1024));
        hand.Peer.Send(RecordBytes.Get());
        hand.Loop.TurnUntil(
            () => GuardedState.Of(hand.Connection.Connection).Output is { IsSending: false, SentLength: > 20_000_000 },
            "the system to take the response");

        context!.Abort();
        Assert.NotEqual(0u, hand.Interest & Libc.EpollOut);

        Assert.Equal(RecordBytes.Cut, ReadToEnd(hand).TakeLast(8));
    }

    private static List<byte> ReadToEnd(HandConnection hand)
    {
        var received = new List<byte>();
        var buffer = new byte[1_000_000];
        hand.Loop.TurnUntil(
            () =>
            {
                while (hand.Peer.Poll(TimeSpan.Zero, SelectMode.SelectRead))
                {
                    var length = hand.Peer.Receive(buffer);
                    if (length == 0)
                        return true;
                    received.AddRange(buffer.AsSpan(0, length));
                }

                return false;
            },
            "the end of the connection");
        return received;
    }

    private static async Task<HandConnection> StartAsync(bool isWatched = true)
    {
        var hand = await HandConnection.StartAsync(
            static context => context.Response.Body.WriteAsync(s_body).AsTask(), isTcp: false, isWatched);
        hand.MakeSmall();
        return hand;
    }
}
