namespace FastCgi.AspNetCore.UnitTests.Linux;

/// <summary>What a question has for an answer where a sandbox forbids it, or no descriptor is left.</summary>
public sealed class ForbiddenCallTests : IDisposable
{
    private const int NotPermitted = 1;
    private const int TooManyOpenFiles = 24;

    private readonly Socket _listener = TestSockets.ListenUnix();

    public void Dispose() => _listener.Dispose();

    [Theory]
    [InlineData(SystemCall.EpollCreate, "epoll_create1")]
    [InlineData(SystemCall.EventCreate, "eventfd")]
    public void Handle_CannotBeMade_SaysWhichCallAndWhy(SystemCall call, string name)
    {
        Exception? error = null;
        Sandbox.Run(call, TooManyOpenFiles, () => error = Record.Exception(() =>
        {
            using IDisposable made = call == SystemCall.EpollCreate ? new EpollHandle() : new EventHandle();
        }));

        Assert.Equal(TooManyOpenFiles, Assert.IsType<IOException>(error).HResult);
        Assert.Contains(name, error.Message, StringComparison.Ordinal);
    }

    /// <summary>It exists before it is needed, and again after it has been used.</summary>
    [Fact]
    public void Reserve_HasADescriptor() => Sandbox.RunWithOwnDescriptors(() =>
    {
        var next = GetNextDescriptor();
        using (var reserve = new DescriptorReserve())
        {
            Assert.NotEqual(next, GetNextDescriptor());
            using var client = TestSockets.Connect(_listener);
            var others = GetNextDescriptor();
            Assert.True(reserve.TryAcceptAndClose(_listener.SafeHandle));
            Assert.Equal(others, GetNextDescriptor());
        }

        Assert.Equal(next, GetNextDescriptor());
    });

    [Fact]
    public void Reserve_NoDescriptorForIt_AcceptsWithoutOne()
    {
        using var client = TestSockets.Connect(_listener);

        Sandbox.Run(SystemCall.EventCreate, TooManyOpenFiles, () =>
        {
            using var reserve = new DescriptorReserve();
            Assert.True(reserve.TryAcceptAndClose(_listener.SafeHandle));
        });

        Assert.Equal(0, client.Receive(new byte[1]));
    }

    [Fact]
    public void Files_CannotBeOpened_Unknown()
    {
        using var client = TestSockets.Connect(_listener);
        using var accepted = _listener.Accept();
        // They have already loaded everything they need.
        Assert.NotNull(Descriptors.Count());
        Assert.NotNull(PeerAddress.DescribeProcess(accepted));
        Assert.NotNull(LocalAccounts.Find("root"));

        Sandbox.Run(SystemCall.Open, TooManyOpenFiles, () =>
        {
            Assert.Null(Descriptors.Count());
            Assert.Contains(
                $"process {Environment.ProcessId} (whose name could not be read) of",
                PeerAddress.DescribeProcess(accepted),
                StringComparison.Ordinal);
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

    private static int GetNextDescriptor()
    {
        using var next = new EventHandle();
        return next.Descriptor;
    }
}
