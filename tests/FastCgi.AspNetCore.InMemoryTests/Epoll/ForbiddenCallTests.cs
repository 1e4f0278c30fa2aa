namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>What the epoll engine does when the system refuses a call, or a signal ends it.</summary>
[SupportedOSPlatform("linux")]
public sealed class ForbiddenCallTests
{
    private const int NotPermitted = 1;

    /// <summary>The other engine takes its place, and keeps the process.</summary>
    [Fact]
    public async Task Loop_SystemDoesNotWaitForItsWakeUp_SaysWhyAndGivesBackAll()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        Exception? error = null;

        Sandbox.RunWithOwnDescriptors(() =>
        {
            var next = GetNextDescriptor();
            Sandbox.Refuse(SystemCall.EpollControl, Libc.ErrorNoSpace);
            error = Record.Exception(() => new EpollLoop(0, server.Context.Log));
            Assert.Equal(next, GetNextDescriptor());
        });

        Assert.Contains("epoll_ctl", Assert.IsType<IOException>(error).Message, StringComparison.Ordinal);
        Assert.Equal(Libc.ErrorNoSpace, error.HResult);
    }

    [Fact]
    public async Task Engine_SecondLoopCannotBeMade_FirstIsGivenBack()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Transport.LoopCount = 3);
        Exception? error = null;

        Sandbox.RunWithOwnDescriptors(() =>
        {
            var next = GetNextDescriptor();
            Sandbox.Refuse(SystemCall.EpollControl, Libc.ErrorNoSpace, (0, GetEpollOfSecondLoop(server)));
            error = Record.Exception(() => new EpollEngine(server.Connections, server.Scheduler));
            Assert.Equal(next, GetNextDescriptor());
        });

        Assert.Equal(Libc.ErrorNoSpace, Assert.IsType<IOException>(error).HResult);
    }

    /// <summary>Nobody else looks whether there is something to do.</summary>
    [Fact]
    public async Task Wait_HasNoTimeOut()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = new EpollLoop(0, server.Context.Log);
        loop.Wake();

        // A wait for another time would find the event.
        Sandbox.Run(SystemCall.EpollWait, Libc.ErrorInterrupted, () => Wait(loop), (3, uint.MaxValue));

        Assert.Equal(0, EventCountOf(loop));
        loop.Turn();
        Assert.Equal(1, EventCountOf(loop));
    }

    /// <summary>The event of what has come does not come again by itself.</summary>
    [Fact]
    public async Task Receive_Interrupted_GoesOnAtTheNextTurn()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        hand.Peer.Send(RecordBytes.Get());

        Sandbox.Run(SystemCall.Receive, Libc.ErrorInterrupted, () => hand.Connection.OnEvent(Libc.EpollIn), (0, (uint)hand.Descriptor));
        Assert.Null(hand.GetText());
        hand.Loop.Turn();

        Assert.Equal("Hello", hand.GetText());
    }

    [Fact]
    public async Task HalfClose_IsRefused_ConnectionEnds()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        hand.Peer.Send(RecordBytes.Post(1, "/", new byte[100], keepConnection: false).AsSpan()[..^50]);
        hand.Receive();
        Assert.True(hand.IsOpen);

        Sandbox.Run(SystemCall.Shutdown, NotPermitted, hand.Connection.EndNow, (0, (uint)hand.Descriptor));

        Assert.False(hand.IsOpen);
    }

    [Fact]
    public async Task Accept_Interrupted_IsTriedAgain()
    {
        await using var hand = await HandListener.StartAsync();
        hand.Connect(1);
        var interest = hand.Loop.GetInterest((int)hand.Descriptor);

        Sandbox.Run(SystemCall.Accept, Libc.ErrorInterrupted, hand.Loop.Turn, (0, (uint)hand.Descriptor));
        Assert.Equal(interest, hand.Loop.GetInterest((int)hand.Descriptor));
        Assert.Equal(0, hand.Server.Connections.Count);
        hand.Loop.Turn();

        Assert.Equal(1, hand.Server.Connections.Count);
        Assert.DoesNotContain(hand.Server.Logs.All, static log => log.EventName is "AcceptFailed" or "AcceptOutOfResources");
    }

    [Fact]
    public async Task Accept_ConnectionIsLost_OthersAreAccepted()
    {
        await using var hand = await HandListener.StartAsync();
        // The log is told on another thread, of the first alone.
        FailuresOf(hand.Accepting).OnLost(new SocketException(Libc.ErrorConnectionAborted));
        await hand.Server.Logs.SingleAsync("AcceptFailed");
        hand.Connect(1);

        Sandbox.Run(SystemCall.Accept, Libc.ErrorConnectionAborted, hand.Loop.Turn, (0, (uint)hand.Descriptor));
        hand.Loop.Turn();

        Assert.Equal(1, hand.Server.Connections.Count);
        hand.Server.Clock.Advance(TimeSpan.FromMinutes(1));
        FailuresOf(hand.Accepting).OnLost(new SocketException(Libc.ErrorConnectionAborted));
        await Waiting.UntilAsync(() => hand.Server.Logs.All.Count(static log => log.EventName == "AcceptFailed") == 2, "the second message");
        // Those of one turn, and this one.
        Assert.Contains("65 ", hand.Server.Logs.All.Last(static log => log.EventName == "AcceptFailed").Message, StringComparison.Ordinal);
    }

    private static uint GetEpollOfSecondLoop(TestServer server)
    {
        using var first = new EpollLoop(0, server.Context.Log);
        using var second = new EpollLoop(1, server.Context.Log);
        return (uint)second.GetEpoll().DangerousGetHandle();
    }

    private static int GetNextDescriptor()
    {
        using var next = new EventHandle();
        return next.Descriptor;
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Wait")]
    private static extern void Wait(EpollLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_eventCount")]
    private static extern ref int EventCountOf(EpollLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_failures")]
    private static extern ref AcceptFailures FailuresOf(EpollListener listener);
}
