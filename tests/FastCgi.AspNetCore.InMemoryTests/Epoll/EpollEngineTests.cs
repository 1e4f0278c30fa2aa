using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Text;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using FastCgi.AspNetCore.Transport.Epoll;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>What the epoll engine does when the system refuses what it asks for.</summary>
[SupportedOSPlatform("linux")]
public sealed class EpollEngineTests
{
    // No process has as many descriptors.
    private const int ClosedDescriptor = int.MaxValue;

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task Start_EpollTakesNoDescriptor_ThatConnectionEndsAndNoOther()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Transport.LoopCount = 1);
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        engine.Start();
        var listener = engine.Listen(Listen());
        listener.Start();

        var refused = new EpollConnection(engine.Loops[0], ClosedDescriptor, isTcp: false, server.Connections);
        Assert.True(server.Connections.TryAdd(refused.Connection));
        Assert.False(refused.TryStart(out _));

        Assert.Equal(0, server.Connections.Count);
        var clients = Enumerable.Range(0, 20).Select(_ => Connect(listener.EndPoint)).ToList();
        foreach (var client in clients)
            await client.SendAsync(RecordBytes.Get()).WaitAsync(s_patience);
        foreach (var client in clients)
            Assert.Contains("Hello", await ReceiveAsync(client), StringComparison.Ordinal);

        clients.ForEach(static client => client.Dispose());
        await StopAsync(server, engine, listener);
    }

    /// <summary>A connection that cannot be accepted makes the event come again and again, for each loop.</summary>
    [Fact]
    public async Task Accept_Fails_TriesAgainByTheClockAndNoSooner()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, static options => options.Transport.LoopCount = 1);
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        engine.Start();
        var other = engine.Listen(Listen());
        other.Start();
        using var socket = Listen().Socket;
        var attempts = new SemaphoreSlim(0);
        var acceptor = new EpollAcceptor(
            () =>
            {
                attempts.Release();
                return AcceptOutcome.Failed;
            },
            engine.Loops[0],
            (int)socket.Handle,
            server.Clock);
        Assert.True(acceptor.TryStart());

        using var client = Connect(socket.LocalEndPoint!);
        for (var i = 0; i < 5; i++)
        {
            Assert.True(await attempts.WaitAsync(s_patience));
            await AssertLoopTurnsAsync(other.EndPoint);
            server.Clock.Advance(AcceptFailures.RetryDelay - TimeSpan.FromTicks(1));
            await AssertLoopTurnsAsync(other.EndPoint);
            Assert.Equal(0, attempts.CurrentCount);
            server.Clock.Advance(TimeSpan.FromTicks(1));
        }

        Assert.True(await attempts.WaitAsync(s_patience));
        await acceptor.StopAsync().WaitAsync(s_patience);
        server.Clock.Advance(TimeSpan.FromSeconds(1));
        await AssertLoopTurnsAsync(other.EndPoint);
        Assert.Equal(0, attempts.CurrentCount);
        await StopAsync(server, engine, other);
    }

    /// <summary>Another process that has the socket too has shut it down: the loop would be told of a connection again and again.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Accept_SocketIsShutDownByAnother_OneWarningAndTheNextAttemptByTheClock(bool isTcp)
    {
        await using var hand = await HandListener.StartAsync(isTcp: isTcp);
        hand.Connect(1);
        hand.Loop.TurnUntil(() => hand.Server.Connections.Count == 1, "the connection");
        hand.Socket.Shutdown(SocketShutdown.Receive);

        // It may be that another loop was faster, once.
        for (var i = 0; i < 3; i++)
            hand.Loop.Turn();

        Assert.Null(hand.Loop.GetInterest((int)hand.Descriptor));
        var warning = await hand.Server.Logs.SingleAsync("AcceptOutOfResources");
        Assert.Contains("See accept(2)", warning.Message, StringComparison.Ordinal);
        hand.Server.Clock.Advance(AcceptFailures.RetryDelay);
        Assert.NotNull(hand.Loop.GetInterest((int)hand.Descriptor));
    }

    /// <summary>Another loop or process was faster, which is no failure.</summary>
    [Fact]
    public async Task Accept_NothingIsThere_AgainAndAgain_IsNoFailure()
    {
        await using var hand = await HandListener.StartAsync(static options => options.Transport.LoopCount = 2);
        var interest = hand.Loop.GetInterest((int)hand.Descriptor);
        hand.Connect(1);
        hand.Engine.Loops[1].Turn();

        for (var i = 0; i < 5; i++)
        {
            using var other = LoopByHand.Connect(hand.Socket.LocalEndPoint!);
            // What waited has gone to somebody else since the event.
            using var taken = hand.Socket.Accept();
            hand.Loop.Turn();
        }

        Assert.Equal(interest, hand.Loop.GetInterest((int)hand.Descriptor));
        Assert.DoesNotContain(hand.Server.Logs.All, static log => log.EventName == "AcceptOutOfResources");
    }

    private static async Task AssertLoopTurnsAsync(EndPoint endPoint)
    {
        using var client = Connect(endPoint);
        await client.SendAsync(RecordBytes.Get()).WaitAsync(s_patience);
        Assert.Contains("Hello", await ReceiveAsync(client), StringComparison.Ordinal);
    }

    private static ListeningSocket Listen()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen();
        return new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };
    }

    private static Socket Connect(EndPoint endPoint)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(endPoint);
        return socket;
    }

    private static async Task<string> ReceiveAsync(Socket socket)
    {
        var buffer = new byte[4_096];
        var length = await socket.ReceiveAsync(buffer).WaitAsync(s_patience);
        return Encoding.ASCII.GetString(buffer, 0, length);
    }

    private static async Task StopAsync(TestServer server, EpollEngine engine, TransportListener listener)
    {
        await listener.StopAsync(default).WaitAsync(s_patience);
        await server.StopAsync(new CancellationToken(canceled: true)).WaitAsync(s_patience);
        engine.Stop();
    }
}
