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

    /// <summary>A wake-up that is not taken would come again and again.</summary>
    [Fact]
    public unsafe void WakeUp_Called_WakesUntilItIsTaken()
    {
        using var epoll = new EpollHandle();
        using var wakeUp = new WakeUp();
        var events = stackalloc EpollEvent[1];
        Assert.True(epoll.Add(wakeUp.Descriptor, Libc.EpollIn, data: 7));
        Assert.Equal(0, epoll.Wait(events, 1, 0));

        wakeUp.Call();
        wakeUp.Call();
        Assert.Equal(1, epoll.Wait(events, 1, 0));
        Assert.Equal(7ul, events->Data);

        wakeUp.OnEvent(Libc.EpollIn);
        Assert.Equal(0, epoll.Wait(events, 1, 0));
    }

    [Fact]
    public async Task EventHandle_ResetWithoutASignal_DoesNotBlock()
    {
        using var wake = new EventHandle();

        await Task.Run(wake.Reset).Within("the reset");
    }

    [Fact]
    public unsafe void HasInput_OnlyBytesAreInput()
    {
        using var accepted = Accept();
        Assert.False(Libc.HasInput((int)accepted.Handle));

        _peer.Send("hello"u8);
        Assert.True(accepted.Poll(Waiting.Patience, SelectMode.SelectRead));
        Assert.True(Libc.HasInput((int)accepted.Handle));

        var buffer = stackalloc byte[5];
        Assert.Equal(5, Libc.Receive((int)accepted.Handle, buffer, 5, 0));
        _peer.Shutdown(SocketShutdown.Send);
        Assert.True(accepted.Poll(Waiting.Patience, SelectMode.SelectRead));
        Assert.False(Libc.HasInput((int)accepted.Handle));
    }

    [Fact]
    public void ResetOnClose_PeerSeesAReset()
    {
        using (var accepted = Accept())
            Libc.ResetOnClose((int)accepted.Handle);

        Assert.Equal(SocketError.ConnectionReset, Assert.Throws<SocketException>(() => _peer.Receive(new byte[1])).SocketErrorCode);
    }

    /// <summary>A response of several sends would wait for the peer's acknowledgement between them, for 40 milliseconds.</summary>
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
            Assert.Equal(limit, BacklogLimit.Get(folder.Write("limit", Encoding.ASCII.GetBytes(text))));
        Assert.Equal(int.MaxValue, BacklogLimit.Get("/nowhere/somaxconn"));
        Assert.Equal(int.MaxValue, BacklogLimit.Get("/dev/null"));
        Assert.InRange(BacklogLimit.Get(), 1, int.MaxValue);
    }

    [Fact]
    public void GetPermissions_OfALink_AreThoseOfItsTarget()
    {
        using var folder = new ScratchFolder();
        var file = folder.Write("file", []);
        File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.GroupRead);
        File.CreateSymbolicLink(folder.GetPath("link"), file);

        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.GroupRead, SocketFile.GetPermissions(folder.GetPath("link"))!.Mode);
    }

    private Socket Accept()
    {
        _peer.Connect(_listener.LocalEndPoint!);
        Assert.True(_listener.Poll(Waiting.Patience, SelectMode.SelectRead));
        return new Socket(new SafeSocketHandle(Libc.Accept(_listener.SafeHandle), ownsHandle: true));
    }
}
