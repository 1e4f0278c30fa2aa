namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Real sockets, whose loops a handler holds up as long as the test wants: what waits meanwhile is neither lost nor held up by others.</summary>
[SupportedOSPlatform("linux")]
public sealed class QueuedConnectionTests : IDisposable
{
    private readonly ManualResetEventSlim _go = new();
    private readonly TaskCompletionSource _isHeld = Waiting.Signal();
    private readonly ScratchFolder _folder = new();

    public void Dispose()
    {
        _go.Set();
        _go.Dispose();
        _folder.Dispose();
    }

    /// <summary>A restart: the connection is in the accept queue when the server begins to stop, and its request has been sent.</summary>
    [Theory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task StopSocket_ConnectionInTheAcceptQueue_IsAnswered(bool isUnix, bool isInherited)
    {
        await using var server = await StartAsync(loops: 1);
        server.GetMaxDescriptors = () =>
        {
            _isHeld.TrySetResult();
            Assert.True(_go.Wait(Waiting.Patience));
            return int.MaxValue;
        };
        var listener = SocketListener.Create(Listen(isUnix, isInherited), server.Connections, server.Scheduler);
        listener.Start();
        using var first = Epoll.LoopByHand.Connect(listener.EndPoint);
        await _isHeld.Task.Within("the first to be accepted");
        using var queued = Epoll.LoopByHand.Connect(listener.EndPoint);
        queued.Send(RecordBytes.Get(uri: "/queued"));

        var stopping = listener.StopAsync(default);
        _go.Set();

        await stopping.Within("the listener to stop");
        Assert.Contains("GET /queued", await ReceiveAsync(queued), StringComparison.Ordinal);
    }

    /// <summary>Each is closed at once, however many come, and the next is served as soon as there are descriptors: no time passes here.</summary>
    [Theory, Values(false, true)]
    public async Task AcceptSocket_BeyondTheDescriptors_ClosedAtOnceAndNextIsServed(bool isUnix)
    {
        await using var server = await StartAsync(loops: 1);
        server.GetMaxDescriptors = static () => 3;
        var listener = SocketListener.Create(Listen(isUnix, isInherited: false), server.Connections, server.Scheduler);
        listener.Start();
        for (var i = 0; i < 200; i++)
        {
            using var refused = Epoll.LoopByHand.Connect(listener.EndPoint);
            Assert.Empty(await ReceiveAsync(refused));
        }

        server.GetMaxDescriptors = static () => int.MaxValue;
        using var client = Epoll.LoopByHand.Connect(listener.EndPoint);
        client.Send(RecordBytes.Get(uri: "/next"));
        Assert.Contains("GET /next", await ReceiveAsync(client), StringComparison.Ordinal);
        Assert.Equal(200, server.Context.Counters.RejectedConnections);
        await server.Logs.SingleAsync("AcceptOutOfResources");
        client.Dispose();
        await listener.StopAsync(default);
    }

    [Fact]
    public async Task Loops_OneIsHeldUp_ConnectionsOfTheOtherAreServed()
    {
        const int Half = 4;
        await using var server = await StartAsync(loops: 2);
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        engine.Start();
        var listener = engine.Listen(Listen(isUnix: true, isInherited: false));
        listener.Start();
        var clients = new List<Socket>();
        for (var i = 0; i < 2 * Half; i++)
        {
            clients.Add(Epoll.LoopByHand.Connect(listener.EndPoint));
            clients[i].Send(RecordBytes.Get(uri: "/first"));
            await ReceiveAsync(clients[i]);
        }

        var sources = engine.Loops.Select(static loop => loop.SourceCount).ToList();
        Assert.Equal(sources[0], sources[1]);
        clients[0].Send(RecordBytes.Get(uri: "/hold"));
        await _isHeld.Task.Within("the handler");
        foreach (var client in clients.Skip(1))
            client.Send(RecordBytes.Get(uri: "/other", keepConnection: false));

        await Waiting.UntilAsync(() => clients.Skip(1).Count(static client => client.Available > 0) == Half, "the answers of the other loop");
        var stopping = listener.StopAsync(default);
        _go.Set();

        foreach (var client in clients.Skip(1))
            Assert.Contains("GET /other", await ReceiveAsync(client), StringComparison.Ordinal);
        Assert.Contains("GET /hold", await ReceiveAsync(clients[0]), StringComparison.Ordinal);
        await stopping.Within("the listener to stop");
        clients.ForEach(static client => client.Dispose());
        await EndAsync(server, engine);
    }

    private Task<TestServer> StartAsync(int loops) => TestServer.StartAsync(
        context =>
        {
            if (context.Request.Path == "/hold")
            {
                _isHeld.SetResult();
                Assert.True(_go.Wait(Waiting.Patience));
            }

            return Apps.Target(context);
        },
        options => options.Transport.LoopCount = loops);

    private ListeningSocket Listen(bool isUnix, bool isInherited)
    {
        EndPoint endPoint = isUnix ? new UnixDomainSocketEndPoint(_folder.GetPath("app.sock")) : new IPEndPoint(IPAddress.Loopback, 0);
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, isUnix ? ProtocolType.Unspecified : ProtocolType.Tcp);
        socket.Bind(endPoint);
        socket.Listen(512);
        return new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint!, IsShared = isInherited };
    }

    private static async Task<string> ReceiveAsync(Socket socket)
    {
        var buffer = new byte[4_096];
        var length = await socket.ReceiveAsync(buffer).Within("an answer");
        return Encoding.ASCII.GetString(buffer, 0, length);
    }

    private static async Task EndAsync(TestServer server, EpollEngine engine)
    {
        await server.StopAsync(new CancellationToken(canceled: true)).Within("the server to stop");
        engine.Stop();
    }
}
