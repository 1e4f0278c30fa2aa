namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>A server with one epoll connection, whose loop the test runs turn by turn. Nothing may leak.</summary>
internal sealed class HandConnection : IAsyncDisposable
{
    private readonly List<byte> _received = [];

    private HandConnection(TestServer server, bool isTcp, bool isWatched, bool isStarted)
    {
        Server = server;
        Loop = LoopByHand.Create(server);
        using var listener = isTcp ? TestSockets.ListenTcp() : TestSockets.ListenUnix();
        Peer = TestSockets.Connect(listener.LocalEndPoint!);
        Assert.True(listener.Poll(Waiting.Patience, SelectMode.SelectRead));
        Descriptor = Libc.Accept(listener.SafeHandle);
        Assert.True(Descriptor >= 0);
        Connection = new EpollConnection(Loop, Descriptor, isTcp, server.Connections);
        Assert.True(server.Connections.TryAdd(Connection.Connection));
        if (isStarted)
            Connection.Start();
        if (!isWatched)
            Loop.GetEpoll().Delete(Descriptor);
    }

    public TestServer Server { get; }

    public EpollLoop Loop { get; }

    public EpollConnection Connection { get; }

    public int Descriptor { get; }

    /// <summary>The web server's end.</summary>
    public Socket Peer { get; }

    public bool IsOpen => Server.Connections.Count > 0;

    /// <summary>Whether a thread of the test has run the loop to its end.</summary>
    public bool IsLoopOver { get; set; }

    public uint? Interest => Loop.GetInterest(Descriptor);

    /// <param name="isTcp">Whether it uses TCP. On a Unix socket, sent data is available at once.</param>
    /// <param name="isWatched">
    /// Whether the loop waits for its events. If not, the system refuses each change of its registration.
    /// </param>
    public static async Task<HandConnection> StartAsync(
        RequestDelegate application,
        bool isTcp = false,
        bool isWatched = true,
        Action<FastCgiServerOptions>? configure = null,
        bool isStarted = true)
        => new(await TestServer.StartAsync(application, options =>
        {
            options.Limits.MaxResponseBufferSize = null;
            configure?.Invoke(options);
        }), isTcp, isWatched, isStarted);

    /// <summary>Makes the socket accept only a little data at a time.</summary>
    public void MakeSmall()
    {
        using var socket = new Socket(new SafeSocketHandle(Descriptor, ownsHandle: false));
        socket.SendBufferSize = 4_096;
    }

    /// <summary>Receives once and runs the ready requests, without the rest of a turn.</summary>
    public void Receive()
    {
        Connection.OnEvent(Libc.EpollIn);
        Loop.Queue.Begin(ref Loop.BeginReady(Connection), Connection.Connection.Output);
        Loop.RunBatch();
    }

    /// <summary>Receives everything that the server has sent so far.</summary>
    public int Take()
    {
        var taken = 0;
        while (Peer.Available > 0)
        {
            var bytes = new byte[Peer.Available];
            Assert.Equal(bytes.Length, Peer.Receive(bytes));
            _received.AddRange(bytes);
            taken += bytes.Length;
        }

        return taken;
    }

    /// <summary>The body of a response, once all of it has been received.</summary>
    public string? GetText(int id = 1) => GetBody(id) is { } body ? Encoding.ASCII.GetString(body) : null;

    public byte[]? GetBody(int id = 1)
    {
        Take();
        return SentRecords.Read(CollectionsMarshal.AsSpan(_received)).TryGetValue(id, out var answer)
            && answer.IsOver
            ? FrontEnd.Parse([.. answer.Stdout], new byte[8]).Body
            : null;
    }

    public async ValueTask DisposeAsync()
    {
        Connection.Connection.Fail();
        Connection.CloseNow();
        await Server.DisposeAsync();
        Peer.Dispose();
        if (IsLoopOver)
            return;

        Loop.Stop();
        Server.Scheduler.Run(Server.Scheduler.CreateWorker(), Loop.Queue);
    }
}
