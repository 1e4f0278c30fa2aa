namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>What the system's calls make of descriptors.</summary>
public sealed class DescriptorFlagTests : IDisposable
{
    private readonly Socket _listener = TestSockets.ListenTcp();
    private readonly Socket _peer;

    public DescriptorFlagTests() => _peer = TestSockets.MakePeer(_listener);

    public void Dispose()
    {
        _peer.Dispose();
        _listener.Dispose();
    }

    /// <summary>A program that the application starts would keep connections open, and the port taken.</summary>
    [Fact]
    public void Descriptors_OfTheEngine_AreNotForProgramsThatAreStarted()
    {
        using var epoll = new EpollHandle();
        using var wake = new EventHandle();
        var path = Path.Combine(Path.GetTempPath(), "fastcgi-" + Guid.NewGuid());
        using var unix = SocketFile.Bind(path);
        File.Delete(path);
        using var accepted = Accept();

        Assert.All(
            [(int)epoll.DangerousGetHandle(), wake.Descriptor, (int)unix.Handle, (int)accepted.Handle],
            static descriptor => Assert.NotEqual(0, TestSockets.GetFlags(descriptor) & TestSockets.CloseOnExec));
        Assert.NotEqual(0, TestSockets.GetFlags((int)accepted.Handle) & TestSockets.NonBlocking);
    }

    /// <summary>Without TCP_NODELAY, a response of several sends would wait 40 ms between them.</summary>
    [Fact]
    [Trait("Contract", "T40")]
    public void TcpOptions_ConnectionsOfAListener_SendWithoutDelayAndProbe()
    {
        TcpOptions.Set(_listener);

        using var accepted = Accept();

        Assert.True(accepted.NoDelay);
        Assert.NotEqual(0, accepted.GetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive));
    }

    [Fact]
    public void BacklogLimit_AsTheFileSays_OrNone()
    {
        using var folder = new ScratchFolder();
        foreach (var (text, limit) in new[] { ("4096\n", 4_096), ("128", 128), ("many", int.MaxValue) })
            Assert.Equal(limit, ResourceLimits.GetBacklog(folder.Write("limit", Encoding.ASCII.GetBytes(text))));
        Assert.Equal(int.MaxValue, ResourceLimits.GetBacklog("/nowhere/somaxconn"));
        Assert.Equal(int.MaxValue, ResourceLimits.GetBacklog("/dev/null"));
        Assert.InRange(ResourceLimits.GetBacklog(), 1, int.MaxValue);
    }

    [Fact]
    public void GetPermissions_OfALink_AreThoseOfItsTarget()
    {
        using var folder = new ScratchFolder();
        var file = folder.Write("file", []);
        File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.GroupRead);
        File.CreateSymbolicLink(folder.GetPath("link"), file);

        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.GroupRead, SocketFile.GetPermissions(folder.GetPath("link"))!.Mode);
    }

    private Socket Accept()
    {
        _peer.Connect(_listener.LocalEndPoint!);
        Assert.True(_listener.Poll(Waiting.Patience, SelectMode.SelectRead));
        return new Socket(new SafeSocketHandle(Libc.Accept(_listener.SafeHandle), ownsHandle: true));
    }
}
