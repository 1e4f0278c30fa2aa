using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Transport;

namespace FastCgi.AspNetCore.Tests.Linux;

/// <summary>What a container, a sandbox or an old system refuses has a way on without it.</summary>
[SupportedOSPlatform("linux")]
public sealed class RefusedCallTests
{
    private const int SocketLevel = 1;
    private const int LockFilter = 44;

    private readonly LogCollector _log = new();

    [Fact]
    public async Task CloseAcceptQueue_FilterIsRefused_GoesOnWithoutAndSaysSo()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        socket.Listen();
        // No filter can be attached any more: the error is EPERM, as of a sandbox.
        socket.SetRawSocketOption(SocketLevel, LockFilter, MemoryMarshal.AsBytes<int>([1]));
        var listening = new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };

        Assert.False(await AcceptQueue.TryCloseAsync(socket));
        Assert.True(await listening.WithdrawAsync(_log));

        Assert.Equal("AcceptQueueOpen", Assert.Single(_log.Entries).Event);
    }

    [Fact]
    public async Task Withdraw_RemoveFails_TheQueueIsClosedAllTheSame()
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint("\0fastcgi-" + Guid.NewGuid()));
        socket.Listen();
        var listening = new ListeningSocket(socket)
        {
            EndPoint = socket.LocalEndPoint!,
            RemoveAsync = static () => throw new UnauthorizedAccessException("on purpose"),
        };

        Assert.True(await listening.WithdrawAsync(_log));

        Assert.Equal("SocketFileLeft", Assert.Single(_log.Entries).Event);
        using var late = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        Assert.Throws<SocketException>(() => late.Connect(socket.LocalEndPoint!));
    }

    /// <summary>It is no unix socket, so the system tells neither user nor groups: whoever it is does not come in.</summary>
    [Fact]
    public void PeerCredentials_NotTold_Null()
    {
        using var notConnected = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        using var closed = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        Assert.DoesNotContain(PeerCredentials.Get(notConnected)?.Groups ?? [], static group => group == 0);
        Assert.DoesNotContain(PeerCredentials.Get(closed)?.Groups ?? [], static group => group == 0);
    }

    [Fact]
    public void ThreadId_FromProc_IsThatOfTheSystem()
    {
        Assert.NotEqual(0, ThreadClock.GetThreadId());
        Assert.Equal(ThreadClock.GetThreadId(), ThreadClock.ReadThreadId());
    }

    [Fact]
    public void GetProcessorTime_NoSuchThread_IsNotTold()
    {
        Assert.Equal(-1, ThreadClock.GetProcessorTime(0));
        Assert.Equal(-1, ThreadClock.GetProcessorTime(int.MaxValue / 16));
    }

    [Fact]
    public void BacklogLimit_NotToBeRead_None()
    {
        Assert.Equal(int.MaxValue, BacklogLimit.Get("/nowhere/somaxconn"));
        Assert.Equal(int.MaxValue, BacklogLimit.Get("/dev/null"));
        Assert.InRange(BacklogLimit.Get(), 1, int.MaxValue);
    }

    [Fact]
    public void PipeName_NoSuchDescriptor_Null() => Assert.Null(PipeName.Get(int.MaxValue));

    [Fact]
    public void TcpOptions_OfAnotherKindOfSocket_AreLeft()
    {
        using var datagrams = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);

        TcpOptions.Set(datagrams);
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
}
