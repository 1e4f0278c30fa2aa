namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Real sockets, whose loops a handler blocks for as long as the test requires: waiting connections are neither lost
/// nor delayed by others.
/// </summary>
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

    /// <summary>A restart: the connection, with its request, is in the accept queue when the stop begins.</summary>
    [Theory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task StopSocket_ConnectionInTheAcceptQueue_IsAnswered(bool isUnix, bool isInherited)
    {
        await using var server = await StartAsync();
        server.GetMaxDescriptors = () =>
        {
            _isHeld.TrySetResult();
            Assert.True(_go.Wait(Waiting.Patience));
            return int.MaxValue;
        };
        var listener = new SocketListener(Listen(isUnix, isInherited), server.Connections, server.Scheduler);
        listener.Start();
        using var first = TestSockets.Connect(listener.EndPoint);
        await _isHeld.Task.Within("the first to be accepted");
        using var queued = TestSockets.Connect(listener.EndPoint);
        queued.Send(RecordBytes.Get(uri: "/queued"));

        var stopping = listener.StopAsync(default);
        _go.Set();

        await stopping.Within("the listener to stop");
        Assert.Contains("GET /queued", await ReceiveAsync(queued), StringComparison.Ordinal);
    }

    /// <summary>
    /// Each is closed at once, however many come, and the next is served as soon as there are descriptors: no time
    /// passes here.
    /// </summary>
    [Theory, Values(false, true)]
    public async Task AcceptSocket_BeyondTheDescriptors_ClosedAtOnceAndNextIsServed(bool isUnix)
    {
        await using var server = await StartAsync();
        server.GetMaxDescriptors = static () => 3;
        var listener = new SocketListener(Listen(isUnix, isInherited: false), server.Connections, server.Scheduler);
        listener.Start();
        for (var i = 0; i < 200; i++)
        {
            using var refused = TestSockets.Connect(listener.EndPoint);
            Assert.Empty(await ReceiveAsync(refused));
        }

        server.GetMaxDescriptors = static () => int.MaxValue;
        using var client = TestSockets.Connect(listener.EndPoint);
        client.Send(RecordBytes.Get(uri: "/next"));
        Assert.Contains("GET /next", await ReceiveAsync(client), StringComparison.Ordinal);
        Assert.Equal(200, server.Context.Counters.RejectedConnections);
        await server.Logs.SingleAsync("AcceptOutOfResources");
        client.Dispose();
        await listener.StopAsync(default);
    }

    private static Task<TestServer> StartAsync()
        => TestServer.StartAsync(Apps.Target, static options => options.Transport.LoopCount = 1);

    private ListeningSocket Listen(bool isUnix, bool isInherited)
    {
        EndPoint endPoint = isUnix ? new UnixDomainSocketEndPoint(
            _folder.GetPath("app.sock")) : new IPEndPoint(IPAddress.Loopback, 0);
        var socket = new Socket(
            endPoint.AddressFamily, SocketType.Stream, isUnix ? ProtocolType.Unspecified : ProtocolType.Tcp);
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
}
