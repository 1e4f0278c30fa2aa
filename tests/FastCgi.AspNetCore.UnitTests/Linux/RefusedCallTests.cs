namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>The server works without system calls that containers, sandboxes, or old kernels refuse.</summary>
public sealed partial class RefusedCallTests : IDisposable
{
    private const int SocketLevel = 1;
    private const int BindToInterface = 62;
    private const int Loopback = 1;
    private const int NotPermitted = 1;
    private const int TooManyOpenFiles = 24;

    private readonly CollectedLogs _logs = new();
    private readonly Socket _unix = TestSockets.ListenUnix();

    public void Dispose() => _unix.Dispose();

    [Theory, Values("127.0.0.1", "::1")]
    public async Task CloseAcceptQueue_WaitingConnections_AreAcceptedAndOthersRefused(string address)
    {
        using var socket = TestSockets.ListenTcp(address);
        using var waiting = TestSockets.Connect(socket);

        var start = Stopwatch.GetTimestamp();
        Assert.True(ListenerOptions.TryCloseQueue(socket));

        // Handshakes that have begun end meanwhile.
        Assert.InRange(Stopwatch.GetElapsedTime(start).TotalMilliseconds, 5, double.MaxValue);
        using var late = TestSockets.MakePeer(socket);
        Assert.Equal(SocketError.ConnectionRefused, (await Assert.ThrowsAsync<SocketException>(
            () => late.ConnectAsync(socket.LocalEndPoint!))).SocketErrorCode);
        using var accepted = await socket.AcceptAsync();
        await accepted.SendAsync("hello"u8.ToArray());
        Assert.Equal(5, await waiting.ReceiveAsync(new byte[10]));
    }

    [Fact]
    public void CloseAcceptQueue_UnixSocketForbidden_ReportsIt()
    {
        using var socket = TestSockets.ListenUnix();
        var isClosed = true;

        Sandbox.Run(SystemCall.Shutdown, NotPermitted, () => isClosed = ListenerOptions.TryCloseQueue(socket));

        Assert.False(isClosed);
    }

    /// <summary>
    /// A sandbox may forbid it: a connection that arrives during the close is reset then, which the operator should
    /// know.
    /// </summary>
    [Fact]
    public async Task Withdraw_QueueCannotBeClosed_LogsAndAcceptsWaiting()
    {
        using var socket = TestSockets.ListenTcp();
        // To bind it to another interface is a privilege then.
        socket.SetRawSocketOption(SocketLevel, BindToInterface, MemoryMarshal.AsBytes<int>([Loopback]));
        var listening = new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };
        var acceptsRest = false;

        // Privileges are those of the thread.
        var thread = new Thread(() =>
        {
            DropPrivileges();
            acceptsRest = listening.Withdraw(_logs.CreateLogger(""));
        });
        thread.Start();
        thread.Join();

        Assert.True(acceptsRest);
        await _logs.SingleAsync("AcceptQueueOpen");
    }

    [Theory]
    [InlineData(false, true)]
    [InlineData(true, false)]
    public void Withdraw_SocketPassedOn_LeavesWaitingConnections(bool isPassedOn, bool acceptsRest)
    {
        using var socket = TestSockets.ListenTcp();
        var listening =
            new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint!, IsShared = true, IsPassedOn = isPassedOn };

        Assert.Equal(acceptsRest, listening.Withdraw(_logs.CreateLogger("")));

        using var late = TestSockets.Connect(socket);
        Assert.Empty(_logs.All);
    }

    /// <summary>The peer is no Unix socket, so the system reports neither user nor groups, and it is refused.</summary>
    [Fact]
    public void PeerCredentials_Unknown_Null()
    {
        using var notConnected = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        using var closed = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        Assert.DoesNotContain(PeerCredentials.Get(notConnected)?.Groups ?? [], static group => group == 0);
        Assert.DoesNotContain(PeerCredentials.Get(closed)?.Groups ?? [], static group => group == 0);
    }

    [Fact]
    public void GetProcessorTime_UnknownThread_IsUnknown()
    {
        Assert.NotEqual(0, ThreadClock.GetThreadId());
        Assert.Equal(-1, ThreadClock.GetProcessorTime(0));
        Assert.Equal(-1, ThreadClock.GetProcessorTime(int.MaxValue / 16));
    }

    /// <summary>Any thread may come late: another socket can have the number by then.</summary>
    [Fact]
    public void Handles_AfterTheirEnd_DoNothing()
    {
        var epoll = new EpollHandle();
        var wake = new EventHandle();
        epoll.Dispose();
        wake.Dispose();

        Assert.False(epoll.Add(0, Libc.EpollIn, data: 0));
        Assert.False(epoll.Modify(0, Libc.EpollIn, data: 0));
        Assert.False(epoll.Delete(0));
        wake.Signal();
    }

    [Theory]
    [InlineData(SystemCall.EpollCreate, "epoll_create1")]
    [InlineData(SystemCall.EventCreate, "eventfd")]
    public void Handle_CannotBeCreated_ErrorNamesCallAndReason(SystemCall call, string name)
    {
        Exception? error = null;
        Sandbox.Run(call, TooManyOpenFiles, () => error = Record.Exception(() =>
        {
            using IDisposable made = call == SystemCall.EpollCreate ? new EpollHandle() : new EventHandle();
        }));

        Assert.Equal(TooManyOpenFiles, Assert.IsType<IOException>(error).HResult);
        Assert.Contains(name, error.Message);
    }

    [Fact]
    public void Files_CannotBeOpened_Unknown()
    {
        using var client = TestSockets.Connect(_unix);
        using var accepted = _unix.Accept();
        // They have already loaded everything they need.
        Assert.NotNull(Descriptors.Count());
        Assert.NotNull(PeerAddress.Describe(accepted));
        Assert.NotNull(LocalAccounts.Find("root"));

        Sandbox.Run(SystemCall.Open, TooManyOpenFiles, () =>
        {
            Assert.Null(Descriptors.Count());
            Assert.Contains(
                $"process {Environment.ProcessId} (whose name could not be read) of",
                PeerAddress.Describe(accepted));
            Assert.Null(LocalAccounts.Find("root"));
        });
    }

    [Fact]
    public void Links_CannotBeRead_Unknown()
    {
        var (thread, pipe) = (-1, "");

        Sandbox.Run(
            SystemCall.ReadLink,
            NotPermitted,
            () => (thread, pipe) = (ThreadClock.GetThreadId(), Descriptors.GetPipeName(0)));

        Assert.Equal(0, thread);
        Assert.Null(pipe);
    }

    private static unsafe void DropPrivileges()
    {
        // _LINUX_CAPABILITY_VERSION_3, this thread; none of the three sets, of two words each.
        var header = stackalloc uint[2] { 0x20080522, 0 };
        var none = stackalloc uint[6];
        Assert.Equal(0, capset(header, none));
    }

    [LibraryImport("libc")]
    private static unsafe partial int capset(uint* header, uint* data);
}
