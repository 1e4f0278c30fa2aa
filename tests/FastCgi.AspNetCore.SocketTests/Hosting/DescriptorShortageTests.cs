using System.Net.Sockets;
using System.Runtime.Versioning;
using FastCgi.AspNetCore.Accounts;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>What each part does when the process has no descriptor left.</summary>
[Collection(Alone.Name)]
[SupportedOSPlatform("linux")]
public sealed class DescriptorShortageTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public void Handles_CannotBeMade_SayWhichCall()
    {
        Exception? epoll, wakeUp, socket;
        using (new DescriptorShortage())
        {
            epoll = Record.Exception(static () => new EpollHandle());
            wakeUp = Record.Exception(static () => new EventHandle());
            socket = Record.Exception(() => SocketFile.Bind(_folder.GetPath("app.sock")));
        }

        Assert.Contains("epoll_create1", Assert.IsType<IOException>(epoll).Message, StringComparison.Ordinal);
        Assert.Contains("eventfd", Assert.IsType<IOException>(wakeUp).Message, StringComparison.Ordinal);
        Assert.IsType<IOException>(socket);
        Assert.False(File.Exists(_folder.GetPath("app.sock")));
    }

    /// <summary>What is only told is told as unknown.</summary>
    [Fact]
    public void Questions_NeedADescriptor_AreNotAnswered()
    {
        using var listener = Listen();
        using var client = Connect(listener);
        using var accepted = listener.Accept();
        // What it loads, it must have loaded before.
        Assert.NotNull(PeerAddress.DescribeProcess(accepted));
        Assert.NotNull(LocalAccounts.Find("root"));
        Assert.NotNull(Linux.Descriptors.Count());
        using var known = new ThreadStateFile(Environment.ProcessId);

        string? process;
        bool isAccountKnown;
        long? count;
        bool? isSleeping, isKnownSleeping;
        using (new DescriptorShortage())
        {
            process = PeerAddress.DescribeProcess(accepted);
            isAccountKnown = LocalAccounts.Find("root") is not null;
            count = Linux.Descriptors.Count();
            using var state = new ThreadStateFile(Environment.ProcessId);
            isSleeping = state.IsSleeping;
            isKnownSleeping = known.IsSleeping;
        }

        Assert.Contains("whose name could not be read", process, StringComparison.Ordinal);
        Assert.False(isAccountKnown);
        Assert.Null(count);
        Assert.Null(isSleeping);
        Assert.NotNull(isKnownSleeping);
    }

    /// <summary>Another thread can take the spare descriptor in between; later there is one again.</summary>
    [Fact]
    public void Reserve_NoSpareDescriptor_AcceptsAgainWhenThereIsOne()
    {
        using var listener = Listen();
        listener.Blocking = false;
        using var client = Connect(listener);
        bool couldAccept;
        DescriptorReserve reserve;
        using (new DescriptorShortage())
        {
            reserve = new DescriptorReserve();
            couldAccept = reserve.TryAcceptAndClose(listener.SafeHandle);
        }

        using (reserve)
        {
            Assert.False(couldAccept);
            Assert.True(reserve.TryAcceptAndClose(listener.SafeHandle));
            Assert.Equal(0, client.Receive(new byte[1]));
        }
    }

    private Socket Listen()
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(_folder.GetPath("listen.sock")));
        socket.Listen();
        return socket;
    }

    private static Socket Connect(Socket listener)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(listener.LocalEndPoint!);
        return socket;
    }
}
