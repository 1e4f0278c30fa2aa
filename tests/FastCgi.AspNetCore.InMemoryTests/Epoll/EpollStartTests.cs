namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>
/// Connections that end after the epoll listener has counted them and before the loop waits for their events.
/// </summary>
[SupportedOSPlatform("linux")]
public sealed class EpollStartTests
{
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
    public async Task GiveUp_ConnectionIsResetAndTheLoopHearsOn(bool isStarted)
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true, isStarted: isStarted);
        var sources = hand.Loop.SourceCount;

        hand.Connection.GiveUp();
        hand.Loop.Turn();

        Assert.False(hand.IsOpen);
        Assert.Equal(isStarted ? sources - 1 : sources, hand.Loop.SourceCount);
        Assert.Equal(SocketError.ConnectionReset, hand.Peer.GetError());
    }
}
