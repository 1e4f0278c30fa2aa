namespace FastCgi.AspNetCore.InMemoryTests.Epoll;

/// <summary>How a loop handles events and failures.</summary>
public sealed class EpollLoopTests
{
    // More than one epoll_wait returns.
    private const int ManySources = 300;

    [Fact]
    public async Task Event_Fails_IsLoggedAndTheOthersHaveTheirs()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, expects: "ServerFailed");
        using var loop = LoopByHand.Create(server);
        using var failing = new Source(loop, static () => throw new InvalidOperationException("on purpose"));
        using var other = new Source(loop);
        failing.Signal();
        other.Signal();

        loop.Turn();

        Assert.Equal(1, other.EventCount);
        Assert.Equal("on purpose", (await server.Logs.SingleAsync("ServerFailed")).Exception!.Message);
    }

    /// <summary>Loops with fewer connections get the next one.</summary>
    [Fact]
    public async Task Add_SystemRefuses_TheSourceDoesNotCount()
    {
        const int NoDescriptor = -1;
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = LoopByHand.Create(server);
        using var source = new Source();

        Assert.False(loop.Add(source, NoDescriptor, Libc.EpollIn));

        Assert.Equal(0, loop.SourceCount);
    }

    /// <summary>Otherwise, a connection could not start, or would never end.</summary>
    [Theory, Values(true, false)]
    public async Task Sources_ThreadIsInterruptedWhileTheTableIsInUse_AreAddedAndRemoved(bool isAdded)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = LoopByHand.Create(server);
        using var source = new Source(loop);
        Exception? failure = null;
        var thread = new Thread(() =>
        {
            Thread.CurrentThread.Interrupt();
            failure = Record.Exception(() =>
            {
                if (isAdded)
                    new Source(loop).Dispose();
                else
                    loop.Remove(source);
            });
        });

        using (SourcesLockOf(loop).Acquire())
        {
            thread.Start();
            SpinWait.SpinUntil(() => thread.ThreadState.HasFlag(System.Threading.ThreadState.WaitSleepJoin));
        }

        thread.Join();
        Assert.Null(failure);
        Assert.Equal(isAdded ? 2 : 0, loop.SourceCount);
    }

    [Fact]
    public async Task Event_OfAConnectionFails_ItIsReset()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello, isTcp: true);
        hand.Server.Logs.Expected.Add("ServerFailed");
        ServerOf(hand.Connection.Connection) = null!;
        hand.Peer.Send(RecordBytes.Get());

        hand.Loop.TurnUntil(() => !hand.IsOpen, "the end");

        Assert.Equal(System.Net.Sockets.SocketError.ConnectionReset, hand.Peer.GetError());
        await hand.Server.Logs.SingleAsync("ServerFailed");
    }

    /// <summary>The next event may be hours away.</summary>
    [Fact]
    public async Task End_ByAnotherThreadWhileTheLoopWaits_HappensAtOnce()
    {
        await using var hand = await HandConnection.StartAsync(Apps.Hello);
        var id = Waiting.Signal<int>();
        var thread = new Thread(() =>
        {
            id.SetResult(ThreadClock.GetThreadId());
            hand.Server.Scheduler.Run(hand.Server.Scheduler.CreateWorker(), hand.Loop.Queue);
            hand.IsLoopOver = true;
        });
        thread.Start();
        using (var state = new ThreadStateFile(await id.Task.Within("the thread")))
            await Waiting.UntilAsync(() => state.IsSleeping == true, "the loop to wait");

        hand.Connection.Connection.Fail();

        await Waiting.UntilAsync(() => !hand.IsOpen, "the end");
        hand.Loop.Stop();
        thread.Join();
    }

    /// <summary>It may have been closed by then, and its number reused.</summary>
    [Fact]
    public async Task Event_OfASourceThatWasRemovedSinceTheWait_IsDropped()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = LoopByHand.Create(server);
        Source[] sources = [new Source(loop), new Source(loop)];
        foreach (var source in sources)
            source.OnEvent = () => loop.Remove(sources.Single(other => other != source));
        foreach (var source in sources)
            source.Signal();

        loop.Turn();

        Assert.Equal(1, sources.Sum(static source => source.EventCount));
        loop.Remove(sources.Single(static source => source.EventCount == 0));
        Assert.Equal(1, loop.SourceCount);
        foreach (var source in sources)
            source.Dispose();
    }

    [Fact]
    public async Task Events_MoreThanOneWaitReturns_ComeInSeveralTurns()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = LoopByHand.Create(server);
        var sources = Enumerable.Range(0, ManySources).Select(_ => new Source(loop)).ToList();
        sources.ForEach(static source => source.Signal());

        loop.Turn();
        Assert.InRange(sources.Sum(static source => source.EventCount), 200, 256);
        loop.Turn();

        Assert.All(sources, static source => Assert.Equal(1, source.EventCount));
        sources.ForEach(static source => source.Dispose());
    }

    /// <summary>Otherwise the loop would use a whole processor.</summary>
    [Fact]
    public async Task Wait_SystemRefuses_OneErrorAMinuteAndTheProcessorIsLeftToOthers()
    {
        const int Turns = 5;
        await using var server = await TestServer.StartAsync(Apps.Hello, expects: "WaitFailed");
        using var loop = LoopByHand.Create(server);
        using (var nothing = File.OpenHandle("/dev/null"))
            LoopByHand.Replace((int)loop.GetEpoll().DangerousGetHandle(), (int)nothing.DangerousGetHandle());

        var start = Environment.TickCount64;
        for (var i = 0; i < Turns; i++)
            loop.Turn();

        Assert.InRange(Environment.TickCount64 - start, Turns * 9, long.MaxValue);
        var error = await server.Logs.SingleAsync("WaitFailed");
        Assert.Contains(Libc.GetMessage(Libc.ErrorInvalid), error.Message);
    }

    /// <summary>Whichever thread runs it: the loop may have been given away.</summary>
    [Fact]
    public async Task HasAnswered_EachTime_IsWhetherAThreadHasRunTheLoopSince()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var loop = LoopByHand.Create(server);
        Assert.False(loop.HasAnswered());

        for (var i = 0; i < 3; i++)
        {
            var other = new Thread(loop.Turn);
            other.Start();
            other.Join();
            Assert.True(loop.HasAnswered());
            Assert.False(loop.HasAnswered());
        }

        loop.Stop();
        Assert.True(loop.HasAnswered());
    }

    /// <summary>A loop without work does not run by itself.</summary>
    [Fact]
    public async Task HasAnswered_LoopThatWaits_IsAsked()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var loop = LoopByHand.Create(server);
        var thread = new Thread(() => server.Scheduler.Run(server.Scheduler.CreateWorker(), loop.Queue));
        thread.Start();

        for (var i = 0; i < 3; i++)
            await Waiting.UntilAsync(loop.HasAnswered, "the loop");

        loop.Stop();
        // Do not join the thread: it may be the one that continues here.
        await loop.Ended.Within("the end");
    }

    [Fact]
    public async Task Stop_Loop_EndsAndReleasesItsResources()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var loop = LoopByHand.Create(server);

        loop.Stop();

        server.Scheduler.Run(server.Scheduler.CreateWorker(), loop.Queue);
        Assert.True(loop.GetEpoll().IsClosed);
        // Handlers may outlive it.
        loop.Wake();
    }

    /// <summary>All threads may have other work when the server stops.</summary>
    [Fact]
    public async Task Stop_LoopThatGetsItsThreadLater_ReleasesItsResources()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Transport.LoopCount = 1);
        var engine = new Engine(server.Connections, server.Scheduler, _ => LoopByHand.Create(server));
        var loop = (EpollLoop)engine.Loops[0];
        IsStarted(engine) = true;
        var thread = new Thread(() =>
        {
            SpinWait.SpinUntil(() => Volatile.Read(ref IsStopping(loop)));
            server.Scheduler.Run(server.Scheduler.CreateWorker(), loop.Queue);
        });
        thread.Start();

        engine.Stop();

        Assert.True(loop.GetEpoll().IsClosed);
        thread.Join();
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_sourcesLock")]
    private static extern ref Lock SourcesLockOf(EpollLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isStarted")]
    private static extern ref bool IsStarted(Engine engine);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_isStopping")]
    private static extern ref bool IsStopping(EventLoop loop);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_server")]
    private static extern ref StreamContext ServerOf(FastCgiConnection connection);

    /// <summary>Something that the test signals.</summary>
    private sealed class Source : IEpollSource, IDisposable
    {
        private readonly EventHandle _event = new();

        public Source()
        {
        }

        public Source(EpollLoop loop, Action? onEvent = null)
        {
            OnEvent = onEvent;
            Assert.True(loop.Add(this, _event.Descriptor, Libc.EpollIn));
        }

        public ulong Key { get; set; }

        public Action? OnEvent { get; set; }

        public int EventCount { get; private set; }

        public void Signal() => _event.Signal();

        void IEpollSource.OnEvent(uint events)
        {
            EventCount++;
            _event.Reset();
            OnEvent?.Invoke();
        }

        public void Dispose() => _event.Dispose();
    }
}
