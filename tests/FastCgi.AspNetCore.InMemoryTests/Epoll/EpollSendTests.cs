namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>The epoll engine when the socket's send buffer is full.</summary>
[SupportedOSPlatform("linux")]
public sealed class EpollSendTests
{
    private static readonly byte[] s_body = Apps.Pattern(300_000);

    [Fact]
    public async Task Response_LargerThanTheSocketTakes_GoesOnWhenItIsTaken()
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
    public async Task Send_SystemDoesNotTellWhenItGoesOn_NothingIsSentBehindAndTheConnectionIsReset()
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
        hand.Connection.CloseAsDecided();

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

    private static async Task<HandConnection> StartAsync(
        Action<FastCgiServerOptions>? configure = null, bool isWatched = true)
    {
        var hand = await HandConnection.StartAsync(
            static context => context.Response.Body.WriteAsync(s_body).AsTask(), isTcp: false, isWatched, configure);
        hand.MakeSmall();
        return hand;
    }
}
