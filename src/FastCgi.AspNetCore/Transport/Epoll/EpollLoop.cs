namespace FastCgi.AspNetCore.Transport.Epoll;

internal sealed unsafe class EpollLoop : EventLoop
{
    public const int ReceiveBufferLength = 64 * 1024;

    private const int MaxEvents = 256;

    // The key of the event that ends a wait, so that the loop checks its inbox.
    private const ulong WakeUpKey = 0;

    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    private readonly LogThrottle _waitsFailed = new(TimeProvider.System);
    private readonly EventHandle _wakeUp = new();
    private readonly EpollHandle _epoll = new();
    private readonly EpollEvent* _events = (EpollEvent*)NativeMemory.Alloc(MaxEvents, (nuint)sizeof(EpollEvent));

    // By the key in their events. Keys are never reused, so an event of a removed source finds nothing.
    private readonly Dictionary<ulong, IEpollSource> _sources = [];
    private readonly Lock _sourcesLock = new();
    private ulong _lastKey = WakeUpKey;

    // Listeners that have failed to accept, for which the loop does not wait.
    private readonly List<EpollAcceptor> _failed = [];
    // Used only by the thread that owns the loop.
    private int _eventCount;
    private int _nextEvent;

    public EpollLoop(ILogger log)
        : base(log)
    {
        ReceiveBuffer = (byte*)NativeMemory.Alloc(ReceiveBufferLength);
        if (_epoll.Add(_wakeUp.Descriptor, Libc.EpollIn, WakeUpKey))
            return;

        var failure = Libc.GetException("epoll_ctl");
        Dispose();
        throw failure;
    }

    public byte* ReceiveBuffer { get; }

    protected override bool HasEvent => _nextEvent < _eventCount;

    /// <returns>Whether the system can watch the source. Any thread may call it.</returns>
    public bool Add(IEpollSource source, int descriptor, uint events)
    {
        source.Key = Interlocked.Increment(ref _lastKey);
        using (_sourcesLock.Acquire())
            _sources.Add(source.Key, source);
        CountSource(1);
        if (_epoll.Add(descriptor, events, source.Key))
            return true;

        Remove(source);
        return false;
    }

    /// <summary>Changes the awaited events and raises those already pending. Any thread may call it.</summary>
    /// <returns>Whether the system accepted it. If not, an expected event may not arrive.</returns>
    public bool Modify(IEpollSource source, int descriptor, uint events)
        => _epoll.Modify(descriptor, events, source.Key);

    /// <summary>Removes a source whose descriptor is about to be closed, if it was added.</summary>
    public void Remove(IEpollSource source)
    {
        using (_sourcesLock.Acquire())
        {
            if (!_sources.Remove(source.Key))
                return;
        }

        CountSource(-1);
    }

    public void Forget(IEpollSource source, int descriptor)
    {
        _epoll.Delete(descriptor);
        Remove(source);
    }

    /// <summary>Calls <see cref="EpollAcceptor.TryRestart"/> until it succeeds. Called on the loop's thread.</summary>
    public void RetryLater(EpollAcceptor acceptor) => _failed.Add(acceptor);

    public override void Wake() => _wakeUp.Signal();

    protected override void Free()
    {
        _epoll.Dispose();
        _wakeUp.Dispose();
        NativeMemory.Free(_events);
        NativeMemory.Free(ReceiveBuffer);
    }

    protected override void WaitForEvents(int milliseconds)
    {
        if (_failed.Count > 0 && milliseconds != 0)
            milliseconds = (int)AcceptFailures.RetryDelay.TotalMilliseconds;
        _nextEvent = 0;
        _eventCount = _epoll.Wait(_events, MaxEvents, milliseconds);
        if (_eventCount < 0)
            OnWaitFailed(Libc.LastError);
        _failed.RemoveAll(static acceptor => acceptor.TryRestart());
    }

    protected override void HandleEvent()
    {
        var next = EpollEvent.At(_events, _nextEvent++);
        if (next->Data == WakeUpKey)
            _wakeUp.Reset();
        else if (FindSource(next->Data) is { } source)
            ThreadRoot.Run(
                (source, events: next->Events), static next => next.source.OnEvent(next.events), Log,
                    static next => (next.source as EpollConnection)?.Fail());
    }

    private IEpollSource? FindSource(ulong key)
    {
        using (_sourcesLock.Acquire())
            return _sources.GetValueOrDefault(key);
    }

    private void OnWaitFailed(int error)
    {
        _eventCount = 0;
        if (_waitsFailed.TryAcquire(out var count))
            ThreadRoot.Report(Log, log => log.WaitFailed(Libc.GetMessage(error), count));
        Thread.Sleep(s_pauseAfterFailure);
    }
}

/// <summary>A listener or connection that a loop waits for. The thread that runs the loop raises its events.</summary>
internal interface IEpollSource
{
    ulong Key { get; set; }

    void OnEvent(uint events);
}
