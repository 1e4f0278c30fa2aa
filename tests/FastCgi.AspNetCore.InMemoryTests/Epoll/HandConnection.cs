using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>A server with one epoll connection, whose loop the test turns; it must leave nothing.</summary>
[SupportedOSPlatform("linux")]
internal sealed class HandConnection : IAsyncDisposable
{
    private readonly List<byte> _received = [];

    private HandConnection(TestServer server, bool isTcp, bool isWatched, bool isStarted)
    {
        Server = server;
        Loop = new EpollLoop(0, server.Scheduler, server.Context.Log);
        using var listener = isTcp ? LoopByHand.ListenTcp() : LoopByHand.ListenUnix();
        Peer = LoopByHand.Connect(listener.LocalEndPoint!);
        Assert.True(listener.Poll(Waiting.Patience, SelectMode.SelectRead));
        Descriptor = Libc.Accept(listener.SafeHandle);
        Assert.True(Descriptor >= 0);
        Connection = new EpollConnection(Loop, Descriptor, isTcp, server.Connections);
        Assert.True(server.Connections.TryAdd(Connection.Connection));
        if (isStarted)
            Assert.True(Connection.TryStart(out _));
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

    /// <param name="isTcp">Whether it is no unix socket, on which what is sent is there at once.</param>
    /// <param name="isWatched">
    /// Whether the loop waits for it; if not, the system refuses each change of what is waited for.
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

    /// <summary>Makes the socket take little at a time.</summary>
    public void MakeSmall()
    {
        using var socket = new Socket(new SafeSocketHandle(Descriptor, ownsHandle: false));
        socket.SendBufferSize = 4_096;
    }

    /// <summary>Receives once and runs what is ready, without the rest of a turn.</summary>
    public void Receive()
    {
        Connection.OnEvent(Libc.EpollIn);
        Loop.Queue.Begin(ref Loop.BeginReady(Connection), Connection.Connection.Output);
        Loop.RunBatch();
    }

    /// <summary>Takes what the server has sent so far.</summary>
    public int Take(int maxLength = int.MaxValue)
    {
        var taken = 0;
        while (taken < maxLength && Peer.Available > 0)
        {
            var bytes = new byte[Math.Min(Peer.Available, maxLength - taken)];
            Assert.Equal(bytes.Length, Peer.Receive(bytes));
            _received.AddRange(bytes);
            taken += bytes.Length;
        }

        return taken;
    }

    /// <summary>The body of a response, once all of it was taken.</summary>
    public string? GetText(int id = 1) => GetBody(id) is { } body ? Encoding.ASCII.GetString(body) : null;

    public byte[]? GetBody(int id = 1)
    {
        Take();
        return Faults.SentAnswers.Read(CollectionsMarshal.AsSpan(_received)).TryGetValue(id, out var answer)
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
