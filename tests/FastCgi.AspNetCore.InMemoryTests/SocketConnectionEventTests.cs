using System.Runtime.CompilerServices;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.InMemoryTests.Epoll;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What a connection of the Socket engine makes of what happens to it.</summary>
[SupportedOSPlatform("linux")]
public sealed class SocketConnectionEventTests
{
    private const int Paused = 2;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Peer_IsDescribedAsLongAsTheConnectionIsOpen(bool isTcp)
    {
        await using var pair = await Pair.StartAsync(Apps.Hello, isTcp);

        Assert.Equal(isTcp, pair.Connection.CanReset);
        Assert.Contains(
            isTcp ? pair.Peer.LocalEndPoint!.ToString()! : $"process {Environment.ProcessId} (", pair.Connection.DescribePeer(), StringComparison.Ordinal);
        pair.Connection.Connection.Reset();

        Assert.Null(pair.Connection.RemoteEndPoint);
        Assert.Equal("an unknown peer", pair.Connection.DescribePeer());
    }

    /// <summary>It may have gone before it is asked for.</summary>
    [Fact]
    public async Task Peer_SystemKnowsNone_Null()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        Assert.Null(new SocketConnection(socket, server.Connections, server.Scheduler).RemoteEndPoint);
    }

    /// <summary>A fault of ours in one connection ends that connection.</summary>
    [Fact]
    public async Task Event_Fails_ConnectionIsReset()
    {
        await using var pair = await Pair.StartAsync(Apps.Hello, isTcp: true);
        pair.Server.Logs.Expected.Add("ServerFailed");
        ServerOf(pair.Connection.Connection) = null!;

        pair.Peer.Send(RecordBytes.Get());

        Assert.Equal(SocketError.ConnectionReset, pair.Peer.GetError());
        await Waiting.UntilAsync(() => pair.Server.Connections.Count == 0, "the end of the connection");
        await pair.Server.Logs.SingleAsync("ServerFailed");
    }

    /// <summary>No receive is under way that would tell of the end.</summary>
    [Fact]
    public async Task Reset_WhileReceivingPauses_ConnectionEnds()
    {
        var go = Waiting.Signal();
        await using var pair = await Pair.StartAsync(_ => go.Task, isTcp: true, static options => options.Limits.MaxRequestBufferSize = 1_024);
        pair.Peer.Send(RecordBytes.Post(1, "/", new byte[20_000]).AsSpan()[..10_000]);
        await Waiting.UntilAsync(() => TurnOf(pair.Connection) == Paused, "the pause");

        pair.Connection.Connection.Reset();

        await Waiting.UntilAsync(() => pair.Server.Connections.Count == 0, "the end of the connection");
        Assert.Equal(SocketError.ConnectionReset, pair.Peer.GetError());
        go.SetResult();
    }

    /// <summary>Many connections are idle, and have little memory; one that has much to receive needs fewer calls.</summary>
    [Fact]
    public async Task Receive_PeerFillsTheBlock_NextIsLarge()
    {
        var go = Waiting.Signal();
        await using var pair = await Pair.StartAsync(
            async context =>
            {
                await go.Task;
                await Apps.BodyHash(context);
            },
            isTcp: false);
        Assert.Equal(BufferPool.SmallBlockSize, BlockOf(pair.Connection)!.Capacity);
        var body = Apps.Pattern(BufferPool.SmallBlockSize * 3);
        var request = RecordBytes.Post(1, "/", body);

        // Just as much as the block takes.
        pair.Peer.Send(request.AsSpan()[..BufferPool.SmallBlockSize]);
        await Waiting.UntilAsync(() => BlockOf(pair.Connection)!.Capacity == BufferPool.LargeBlockSize, "a large block");
        pair.Peer.Send(request.AsSpan()[BufferPool.SmallBlockSize..^1]);
        await Waiting.UntilAsync(() => LastLengthOf(pair.Connection) == request.Length - BufferPool.SmallBlockSize - 1, "the rest");
        Assert.Equal(BufferPool.LargeBlockSize, BlockOf(pair.Connection)!.Capacity);
        pair.Peer.Send(request.AsSpan()[^1..]);
        await Waiting.UntilAsync(() => BlockOf(pair.Connection)!.Capacity == BufferPool.SmallBlockSize, "a small block");

        go.SetResult();
        Assert.Contains(Apps.HashOf(body), await pair.ReceiveAsync(static text => text.Length > 100), StringComparison.Ordinal);
    }

    /// <summary>What was sent before is not sent again, in whatever order chains of one block and of several come.</summary>
    [Fact]
    public async Task Send_ChainsOfOneBlockAndOfSeveral_EachOnce()
    {
        await using var pair = await Pair.StartAsync(Apps.Hello, isTcp: false);

        foreach (var (count, name) in new[] { (2, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (1, 'f') })
        {
            var chain = new BufferChain();
            for (var i = 0; i < count; i++)
            {
                var block = pair.Server.Context.Buffers.RentBlock(100);
                block.Append([(byte)name, (byte)('1' + i)]);
                chain.Append(block);
            }

            Assert.True(pair.Connection.Send(chain.Head!));
            BufferBlock.ReturnChain(chain.Head!);
        }

        Assert.Equal("a1a2b1c1c2c3d1d2e1f1", await pair.ReceiveAsync(static text => text.EndsWith("f1", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task Leave_Idle_ConnectionIsReset()
    {
        await using var pair = await Pair.StartAsync(Apps.Hello, isTcp: true, static options => options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero);
        pair.Peer.Send(RecordBytes.Get());
        await pair.ReceiveAsync(static text => text.Contains("Hello", StringComparison.Ordinal));

        var stopping = pair.Server.StopAsync();

        await Waiting.UntilAsync(() => pair.Server.Connections.Count == 0, "the end of the connection");
        await stopping.Within("the end");
        // What ends the request may still have been under way.
        Assert.Equal(SocketError.ConnectionReset, pair.GetError());
    }

    /// <summary>What is to be parsed may be a request.</summary>
    [Fact]
    public async Task Leave_HoldsWhatItHasReceived_Stays()
    {
        await using var pair = await Pair.StartAsync(Apps.Hello, isTcp: true, static options => options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero);
        pair.Peer.Send(RecordBytes.Get());
        await pair.ReceiveAsync(static text => text.Contains("Hello", StringComparison.Ordinal));
        await Waiting.UntilAsync(() => !HoldsInput(pair.Connection), "the receive");
        HoldsInput(pair.Connection) = true;

        var stopping = pair.Server.StopAsync();
        Assert.Equal(0, IsClosed(pair.Connection));
        HoldsInput(pair.Connection) = false;
        pair.Connection.End();

        Assert.Equal(1, IsClosed(pair.Connection));
        await stopping.Within("the end");
        Assert.Equal(0, pair.Server.Connections.Count);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_server")]
    private static extern ref ServerContext ServerOf(FastCgiConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_receiveBlock")]
    private static extern ref BufferBlock? BlockOf(SocketConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_turn")]
    private static extern ref int TurnOf(SocketConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lastLength")]
    private static extern ref int LastLengthOf(SocketConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_holdsInput")]
    private static extern ref bool HoldsInput(SocketConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isClosed")]
    private static extern ref int IsClosed(SocketConnection connection);

    /// <summary>A connection, and the web server's end of it.</summary>
    private sealed class Pair : IAsyncDisposable
    {
        private Pair(TestServer server, bool isTcp)
        {
            Server = server;
            using var listener = isTcp ? LoopByHand.ListenTcp() : LoopByHand.ListenUnix();
            Peer = LoopByHand.Connect(listener.LocalEndPoint!);
            Connection = new SocketConnection(listener.Accept(), server.Connections, server.Scheduler);
            Assert.True(server.Connections.TryAdd(Connection.Connection));
            Assert.Null(Connection.Start());
        }

        public TestServer Server { get; }

        public SocketConnection Connection { get; }

        public Socket Peer { get; }

        public static async Task<Pair> StartAsync(RequestDelegate application, bool isTcp, Action<FastCgiServerOptions>? configure = null)
            => new(await TestServer.StartAsync(application, configure), isTcp);

        /// <summary>Takes what is sent until it is what the test waits for.</summary>
        public async Task<string> ReceiveAsync(Func<string, bool> isAll)
        {
            var received = "";
            var buffer = new byte[4_096];
            while (!isAll(received))
            {
                var length = await Peer.ReceiveAsync(buffer).Within("the answer");
                Assert.NotEqual(0, length);
                received += System.Text.Encoding.Latin1.GetString(buffer, 0, length);
            }

            return received;
        }

        /// <summary>The error behind what was sent.</summary>
        public SocketError GetError() => Assert.Throws<SocketException>(() =>
        {
            while (Peer.Receive(new byte[4_096]) > 0)
            {
            }
        }).SocketErrorCode;

        public async ValueTask DisposeAsync()
        {
            Connection.Connection.Reset();
            await Server.DisposeAsync();
            Peer.Dispose();
        }
    }
}
