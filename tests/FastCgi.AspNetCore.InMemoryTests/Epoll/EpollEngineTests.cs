namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>The epoll engine when system calls fail.</summary>
[SupportedOSPlatform("linux")]
public sealed class EpollEngineTests
{
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
        Assert.Contains("See accept(2)", warning.Message, StringComparison.Ordinal);
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
        hand.Engine.Loops[1].Turn();

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
}
