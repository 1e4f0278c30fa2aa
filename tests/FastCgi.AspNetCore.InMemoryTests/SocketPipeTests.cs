using FastCgi.AspNetCore.InMemoryTests.Epoll;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The pipe engine over Kestrel's sockets: how connections end, as their peer sees it.</summary>
[SupportedOSPlatform("linux")]
public sealed class SocketPipeTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Reset_PeerSeesAnError(bool isReceivingPaused)
    {
        var go = Waiting.Signal();
        await using var pair = await Pair.StartAsync(
            _ => go.Task, isTcp: true, static options => options.Limits.MaxRequestBufferSize = 1_024);
        if (isReceivingPaused)
        {
            pair.Peer.Send(RecordBytes.Post(1, "/", new byte[20_000]).AsSpan()[..10_000]);
            await Waiting.UntilAsync(() => pair.Connection.Connection.IsReceivePaused, "the pause");
        }

        pair.Connection.Connection.Fail();
        pair.Connection.Connection.Fail();

        Assert.Equal(SocketError.ConnectionReset, pair.GetError());
        await pair.AssertEndedAsync();
        go.SetResult();
    }

    [Fact]
    public async Task Reset_WhileAnAnswerIsNotTaken_ConnectionEnds()
    {
        await using var pair = await Pair.StartAsync(
            static context => context.Response.Body.WriteAsync(new byte[50_000_000]).AsTask(), isTcp: true);
        pair.Peer.Send(RecordBytes.Get());
        await Waiting.UntilAsync(() => pair.Connection.UndeliveredLength > 0, "the send");

        pair.Connection.Connection.Fail();

        await pair.AssertEndedAsync();
        Assert.Equal(SocketError.ConnectionReset, pair.GetError());
    }

    /// <summary>nginx repeats a request that it has sent to a connection that was reset before.</summary>
    [Fact]
    public async Task Stop_ConnectionIsIdle_IsReset()
    {
        await using var pair = await Pair.StartAsync(
            Apps.Hello, isTcp: true, static options => options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero);
        pair.Peer.Send(RecordBytes.Get());
        await pair.ReceiveAsync("Hello");

        await pair.Server.StopAsync().Within("the end");

        await pair.AssertEndedAsync();
        Assert.Equal(SocketError.ConnectionReset, pair.GetError());
    }

    /// <summary>A connection, and the web server's end of it.</summary>
    private sealed class Pair : IAsyncDisposable
    {
        private readonly Task _running;

        private Pair(TestServer server, bool isTcp)
        {
            Server = server;
            using var listener = isTcp ? LoopByHand.ListenTcp() : LoopByHand.ListenUnix();
            Peer = LoopByHand.Connect(listener.LocalEndPoint!);
            var accepted = listener.Accept();
            Connection = new PipeConnection(
                SocketListener.CreateContext(accepted), accepted, server.Connections, server.Scheduler);
            Assert.True(server.Connections.TryAdd(Connection.Connection));
            _running = Connection.RunAsync();
        }

        public TestServer Server { get; }

        public PipeConnection Connection { get; }

        public Socket Peer { get; }

        public static async Task<Pair> StartAsync(
            RequestDelegate application, bool isTcp, Action<FastCgiServerOptions>? configure = null)
            => new(await TestServer.StartAsync(application, configure), isTcp);

        public async Task ReceiveAsync(string expected)
        {
            var received = new StringBuilder();
            var buffer = new byte[4_096];
            while (!received.ToString().Contains(expected, StringComparison.Ordinal))
            {
                var length = await Peer.ReceiveAsync(buffer).Within("the answer");
                Assert.NotEqual(0, length);
                received.Append(Encoding.Latin1.GetString(buffer, 0, length));
            }
        }

        /// <summary>The error after what was sent.</summary>
        public SocketError GetError() => Assert.Throws<SocketException>(() =>
        {
            while (Peer.Receive(new byte[65_536]) > 0)
            {
            }
        }).SocketErrorCode;

        public async Task AssertEndedAsync()
        {
            await _running.Within("the end of the connection");
            Assert.Equal(0, Server.Connections.Count);
        }

        public async ValueTask DisposeAsync()
        {
            Connection.Connection.Fail();
            await _running.Within("the end of the connection");
            await Server.DisposeAsync();
            Peer.Dispose();
        }
    }
}
