namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>A listener whose loops the test runs turn by turn.</summary>
internal sealed class HandListener : IAsyncDisposable
{
    private readonly List<Socket> _clients = [];
    private readonly EndPoint _endPoint;

    private HandListener(TestServer server, ListeningSocket socket, bool starts)
    {
        Server = server;
        Socket = socket.Socket;
        Descriptor = Socket.Handle;
        _endPoint = socket.EndPoint;
        Engine = new Engine(server.Connections, server.Scheduler, _ => LoopByHand.Create(server));
        Listener = new EpollListener(Engine, socket);
        if (starts)
            Listener.Start();
    }

    public TestServer Server { get; }

    public Engine Engine { get; }

    public TransportListener Listener { get; }

    public IReadOnlyList<EpollLoop> Loops => [.. Engine.Loops.Cast<EpollLoop>()];

    public EpollLoop Loop => Loops[0];

    public Socket Socket { get; }

    public nint Descriptor { get; }

    public static async Task<HandListener> StartAsync(
        Action<FastCgiServerOptions>? configure =
            null, PeerPolicy? peers = null, bool isShared = false, bool isPassedOn = false,
        bool starts = true, bool isTcp = false)
    {
        var server = await TestServer.StartAsync(Apps.Hello, options =>
        {
            options.Transport.LoopCount = 1;
            configure?.Invoke(options);
        });
        var socket = isTcp ? TestSockets.ListenTcp() : TestSockets.ListenUnix();
        var listening = new ListeningSocket(socket)
        {
            EndPoint = socket.LocalEndPoint!,
            Peers = peers ?? PeerPolicy.Everybody,
            IsShared = isShared,
            IsPassedOn = isPassedOn,
        };
        return new HandListener(server, listening, starts);
    }

    public IReadOnlyList<Socket> Connect(int count)
    {
        var clients = Enumerable.Range(0, count).Select(_ => TestSockets.Connect(_endPoint)).ToList();
        _clients.AddRange(clients);
        return clients;
    }

    private bool TurnUntilAllAreGone()
    {
        foreach (var loop in Loops.Where(static loop => !loop.GetEpoll().IsClosed))
            loop.Turn();
        return Server.Connections.Count == 0;
    }

    public async ValueTask DisposeAsync()
    {
        _clients.ForEach(static client => client.Dispose());
        if (!Socket.SafeHandle.IsClosed)
            await Listener.StopAsync(default);
        // The system may report the end of a connection a little later.
        await Waiting.UntilAsync(TurnUntilAllAreGone, "the connections to go");
        await Server.DisposeAsync();
        Engine.Stop();
    }
}
