using FastCgi.AspNetCore.UnitTests.Hosting;
using Microsoft.Win32.SafeHandles;

namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>What the system makes of descriptors, and those that the process gives back.</summary>
public sealed class DescriptorsTests : IDisposable
{
    private const int ClosedDescriptor = int.MaxValue;

    // Enough that the descriptors of other tests make no difference.
    private const int Many = 200;

    private readonly Socket _listener = TestSockets.ListenUnix();

    public DescriptorsTests() => _listener.Blocking = false;

    public void Dispose() => _listener.Dispose();

    [Fact]
    public void IsListeningAndIsOpen_EachDescriptor_MatchItsState()
    {
        using var other = TestSockets.MakePeer(_listener);
        using var file = File.OpenHandle("/dev/null");

        Assert.True(Descriptors.IsListening((int)_listener.Handle));
        Assert.False(Descriptors.IsListening((int)other.Handle));
        Assert.False(Descriptors.IsListening((int)file.DangerousGetHandle()));
        Assert.False(Descriptors.IsListening(ClosedDescriptor));
        Assert.True(Descriptors.IsOpen((int)_listener.Handle));
        Assert.False(Descriptors.IsOpen(ClosedDescriptor));
        Assert.False(Descriptors.IsReadOnly(ClosedDescriptor));
    }

    /// <summary>Both flags of the read end are 0, which is not an error.</summary>
    [Fact]
    public void IsOpen_AndIsReadOnly_OfAnEndWithoutFlags()
    {
        var (read, write) = DescriptorTable.MakePipe();
        using var readHandle = new SafeFileHandle(read, ownsHandle: true);
        using var writeHandle = new SafeFileHandle(write, ownsHandle: true);

        Assert.True(Descriptors.IsOpen(read));
        Assert.True(Descriptors.IsReadOnly(read));
        Assert.False(Descriptors.IsReadOnly(write));
    }

    /// <summary>The number that the kernel reports, or the entries that it lists.</summary>
    [Fact]
    public void Count_IsHowManyFilesTheSystemLists()
    {
        var files = Enumerable.Range(0, Many).Select(static _ => File.OpenHandle("/dev/null")).ToList();

        var (count, listed) = (Descriptors.Count()!.Value, Directory.GetFileSystemEntries("/proc/self/fd").Length - 1);
        files.ForEach(static file => file.Dispose());

        // Other tests open and close some meanwhile.
        Assert.InRange(count, Math.Max(Many, listed - (Many / 2)), listed + (Many / 2));
        Assert.InRange(Descriptors.Count()!.Value, 1, count - (Many / 2));
    }

    /// <summary>The socket that a web server gives to the application as its standard input.</summary>
    [Fact]
    public void MoveFromStandardStream_SocketIsMovedAndItsPlaceIsEmpty()
    {
        var stream = (int)_listener.Handle;

        var moved = Descriptors.MoveFromStandardStream(stream);

        using var handle = new SafeFileHandle(moved, ownsHandle: true);
        Assert.NotEqual(stream, moved);
        Assert.True(moved > 2);
        Assert.True(Descriptors.IsListening(moved));
        Assert.NotEqual(0, TestSockets.GetFlags(moved) & TestSockets.CloseOnExec);
        Assert.Equal("/dev/null", new FileInfo($"/proc/self/fd/{stream}").LinkTarget);
        Assert.False(Descriptors.IsReadOnly(stream));
        // Programs that are started have standard streams.
        Assert.Equal(0, TestSockets.GetFlags(stream) & TestSockets.CloseOnExec);
    }

    /// <summary>A server that is started and stopped in one process, as in tests, must not use them up.</summary>
    [Fact]
    public void Descriptors_OfDisposedObjects_AreReleased() => AssertNoneIsKept(() =>
    {
        new EpollHandle().Dispose();
        new EventHandle().Dispose();
    });

    [Fact]
    public void MoveFromStandardStream_KeepsNoOtherDescriptor() => AssertNoneIsKept(static () =>
    {
        using var stream = File.OpenHandle("/dev/null");
        new SafeFileHandle(
            Descriptors.MoveFromStandardStream((int)stream.DangerousGetHandle()), ownsHandle: true).Dispose();
    });

    [Fact]
    public void PipeName_BothEnds_AreEqual()
    {
        using var pipe = new System.IO.Pipes.AnonymousPipeServerStream();
        var server = Descriptors.GetPipeName((int)pipe.SafePipeHandle.DangerousGetHandle());

        Assert.StartsWith("pipe:", server);
        Assert.Equal(server, Descriptors.GetPipeName((int)pipe.ClientSafePipeHandle.DangerousGetHandle()));
        Assert.Null(Descriptors.GetPipeName((int)_listener.Handle));
        Assert.Null(Descriptors.GetPipeName(ClosedDescriptor));
    }

    /// <summary>A program that the application starts would keep connections open, and the port taken.</summary>
    [Fact]
    public void Descriptors_OfTheEngine_AreNotInherited()
    {
        using var folder = new ScratchFolder();
        using var epoll = new EpollHandle();
        using var wake = new EventHandle();
        using var unix = SocketFile.Bind(folder.GetPath("socket"));
        using var peer = TestSockets.Connect(_listener);
        using var accepted = Accept(_listener);

        Assert.All(
            [(int)epoll.DangerousGetHandle(), wake.Descriptor, (int)unix.Handle, (int)accepted.Handle],
            static descriptor => Assert.NotEqual(0, TestSockets.GetFlags(descriptor) & TestSockets.CloseOnExec));
        Assert.NotEqual(0, TestSockets.GetFlags((int)accepted.Handle) & TestSockets.NonBlocking);
    }

    /// <summary>Without TCP_NODELAY, a response of several sends would wait 40 ms between them.</summary>
    [Fact]
    [Contract("T40")]
    public void ListenerOptions_ConnectionsOfAListener_SendWithoutDelayAndProbe()
    {
        using var listener = TestSockets.ListenTcp();
        ListenerOptions.SetTcp(listener);

        using var peer = TestSockets.Connect(listener);
        using var accepted = Accept(listener);

        Assert.True(accepted.NoDelay);
        Assert.NotEqual(0, accepted.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
    }

    private static Socket Accept(Socket listener)
        => new(new SafeSocketHandle(Libc.Accept(listener.SafeHandle), ownsHandle: true));

    private static void AssertNoneIsKept(Action act)
    {
        // Files loaded and opened the first time stay open.
        act();
        var before = Descriptors.Count();
        for (var i = 0; i < Many; i++)
            act();
        Assert.InRange(Descriptors.Count()!.Value, 0, before!.Value + (Many / 2));
    }
}
