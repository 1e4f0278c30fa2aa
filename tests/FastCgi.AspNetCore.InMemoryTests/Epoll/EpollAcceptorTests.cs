namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>When one loop accepts connections, and when not.</summary>
public sealed class EpollAcceptorTests : IAsyncLifetime, IDisposable
{
    private const int MaxAcceptsInARow = 64;

    private readonly Socket _socket = TestSockets.ListenUnix();
    private TestServer _server = null!;
    private EpollLoop _loop = null!;
    private EpollAcceptor _acceptor = null!;
    private Func<AcceptOutcome> _accept = null!;
    private int _attempts;

    private int Descriptor => (int)_socket.Handle;

    public async Task InitializeAsync()
    {
        _server = await TestServer.StartAsync(Apps.Hello);
        _loop = LoopByHand.Create(_server);
        _acceptor = Create(Descriptor);
    }

    public async Task DisposeAsync()
    {
        await _acceptor.StopAsync().Within("the end");
        _loop.Dispose();
        await _server.DisposeAsync();
    }

    public void Dispose() => _socket.Dispose();

    /// <summary>One connection does not wake all loops.</summary>
    [Fact]
    public void Start_SystemKnowsTheFlag_WakesOneLoop()
    {
        Assert.True(_acceptor.TryStart());

        Assert.NotEqual(0u, _loop.GetInterest(Descriptor) & Libc.EpollExclusive);
        Assert.NotEqual(0u, _loop.GetInterest(Descriptor) & Libc.EpollIn);
    }

    /// <summary>The kernel refuses the flag for an epoll instance, as an older kernel does for any socket.</summary>
    [Fact]
    public async Task Start_SystemRejectsTheFlag_ContinuesWithoutIt()
    {
        using var inner = new EpollHandle();
        var descriptor = (int)inner.DangerousGetHandle();
        var acceptor = Create(descriptor);

        Assert.True(acceptor.TryStart());

        Assert.Equal(0u, _loop.GetInterest(descriptor) & Libc.EpollExclusive);
        Assert.NotEqual(0u, _loop.GetInterest(descriptor) & Libc.EpollIn);
        await acceptor.StopAsync().Within("the end");
    }

    [Fact]
    public void Event_ManyConnections_OthersHaveTheirTurn()
    {
        _accept = static () => AcceptOutcome.Continue;

        _acceptor.OnEvent(Libc.EpollIn);

        Assert.Equal(MaxAcceptsInARow, _attempts);
    }

    [Fact]
    public async Task Stop_WhileAConnectionIsAccepted_WaitsForItAndAcceptsNoOther()
    {
        Task? stopping = null;
        _accept = () =>
        {
            stopping = _acceptor.StopAsync();
            Assert.False(stopping.IsCompleted);
            Assert.Same(stopping, _acceptor.StopAsync());
            return AcceptOutcome.Continue;
        };
        Assert.True(_acceptor.TryStart());

        _acceptor.OnEvent(Libc.EpollIn);

        Assert.Equal(1, _attempts);
        await stopping!.Within("the end");
        Assert.Null(_loop.GetInterest(Descriptor));
    }

    [Fact]
    public void Accept_Fails_WaitsForNoConnectionUntilItTriesAgain()
    {
        _accept = static () => AcceptOutcome.Pause;
        Assert.True(_acceptor.TryStart());

        _acceptor.OnEvent(Libc.EpollIn);

        Assert.Equal(1, _attempts);
        Assert.Null(_loop.GetInterest(Descriptor));
        Advance(AcceptFailures.RetryDelay - TimeSpan.FromTicks(1));
        Assert.Null(_loop.GetInterest(Descriptor));
        Advance(TimeSpan.FromTicks(1));
        Assert.NotNull(_loop.GetInterest(Descriptor));
    }

    [Fact]
    public void Stop_WhileItWaitsToTryAgain_DoesNotTryAgain()
    {
        _accept = static () => AcceptOutcome.Pause;
        Assert.True(_acceptor.TryStart());
        _acceptor.OnEvent(Libc.EpollIn);

        Assert.True(_acceptor.StopAsync().IsCompleted);
        Advance(10 * AcceptFailures.RetryDelay);

        Assert.Null(_loop.GetInterest(Descriptor));
    }

    /// <summary>Without memory, epoll cannot resume the listener either.</summary>
    [Fact]
    public async Task Retry_SystemRefuses_TriesAgainLater()
    {
        using var place = TestSockets.ListenUnix();
        var descriptor = (int)place.Handle;
        var acceptor = Create(descriptor);
        _accept = static () => AcceptOutcome.Pause;
        Assert.True(acceptor.TryStart());
        acceptor.OnEvent(Libc.EpollIn);

        // Epoll does not wait for files.
        using (var file = File.OpenHandle(typeof(EpollAcceptorTests).Assembly.Location))
            LoopByHand.Replace(descriptor, (int)file.DangerousGetHandle());
        Advance(3 * AcceptFailures.RetryDelay);
        Assert.Null(_loop.GetInterest(descriptor));

        LoopByHand.Replace(descriptor, Descriptor);
        Advance(AcceptFailures.RetryDelay);
        Assert.NotNull(_loop.GetInterest(descriptor));
        await acceptor.StopAsync().Within("the end");
    }

    private void Advance(TimeSpan time)
    {
        _server.Clock.Advance(time);
        _loop.Turn();
    }

    private EpollAcceptor Create(int descriptor) => new(
        () =>
        {
            _attempts++;
            return _accept();
        },
        _loop,
        descriptor,
        _server.Clock);
}
