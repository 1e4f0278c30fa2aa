using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>One loop over epoll. If the application keeps its thread, another thread continues the loop.</summary>
internal sealed unsafe class EpollLoop : IDisposable
{
    /// <summary>The largest record and its header.</summary>
    public const int ReceiveBufferLength = 64 * 1024;

    private const int MaxEvents = 256;

    // The key of the event that ends a wait, so that the loop checks its queue.
    private const ulong WakeUpKey = 0;

    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    private readonly LogThrottle _waitsFailed = new(TimeProvider.System);
    private readonly EventHandle _wakeUp = new();
    private readonly EpollHandle _epoll = new();
    private readonly EpollEvent* _events = (EpollEvent*)NativeMemory.AllocZeroed(
        MaxEvents + 1, (nuint)sizeof(EpollEvent));

    // By the key in their events. Keys are never reused, so an event of a removed source finds nothing.
    private readonly ConcurrentDictionary<ulong, IEpollSource> _sources = new();
    private ulong _lastKey = WakeUpKey;
    private int _sourceCount;

    // Listeners that have failed to accept, for which the loop does not wait.
    private readonly List<EpollAcceptor> _failed = [];

    // Used only by the thread that owns the loop.
    private int _eventCount;
    private int _nextEvent;
    private ReadyRequests _ready;
    private EpollConnection? _received;

    private readonly TaskCompletionSource _ended = new();
    private EpollConnection? _firstToEnd;
    private long _turns;
    private long _seenTurns;
    private int _isWaiting;
    private bool _isStopping;

    public EpollLoop(RequestScheduler scheduler, ILogger log)
    {
        Scheduler = scheduler;
        Queue = new RunQueue(TryBeginBatch);
        Log = log;
        ReceiveBuffer = (byte*)NativeMemory.Alloc(ReceiveBufferLength);
        if (_epoll.Add(_wakeUp.Descriptor, Libc.EpollIn, WakeUpKey))
            return;

        var failure = Libc.GetException("epoll_ctl");
        Dispose();
        throw failure;
    }

    public RequestScheduler Scheduler { get; }
    public ILogger Log { get; }

    public byte* ReceiveBuffer { get; }

    public int SourceCount => Volatile.Read(ref _sourceCount);

    public RunQueue Queue { get; }

    private BatchResult TryBeginBatch(BatchSource source)
    {
        while (!TryFinishEvents(Queue))
        {
            if (Volatile.Read(ref _isStopping))
            {
                Dispose();
                return BatchResult.Ended;
            }

            if (source == BatchSource.Received)
                return BatchResult.None;

            Wait(source == BatchSource.Poll ? 0 : Timeout.Infinite);
            if (source == BatchSource.Poll)
                source = BatchSource.Received;
        }

        return BatchResult.Begun;
    }

    /// <returns>Whether the system can watch the source. Any thread may call it.</returns>
    public bool Add(IEpollSource source, int descriptor, uint events)
    {
        source.Key = Interlocked.Increment(ref _lastKey);
        _sources[source.Key] = source;
        Interlocked.Increment(ref _sourceCount);
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
        if (_sources.TryRemove(source.Key, out _))
            Interlocked.Decrement(ref _sourceCount);
    }

    public void Forget(IEpollSource source, int descriptor)
    {
        _epoll.Delete(descriptor);
        Remove(source);
    }

    /// <summary>Calls <see cref="EpollAcceptor.TryRestart"/> until it succeeds. Called on the loop's thread.</summary>
    public void RetryLater(EpollAcceptor acceptor) => _failed.Add(acceptor);

    /// <summary>Gets the list for the requests that now become ready, all from this connection.</summary>
    public ref ReadyRequests BeginReady(EpollConnection connection)
    {
        _received = connection;
        return ref _ready;
    }

    /// <summary>Makes the loop's thread end a connection. Any thread may call it.</summary>
    public void QueueToClose(EpollConnection connection)
    {
        EpollConnection? first;
        do
        {
            first = Volatile.Read(ref _firstToEnd);
            connection.NextToClose = first;
        }
        while (Interlocked.CompareExchange(ref _firstToEnd, connection, first) != first);

        // A running loop checks before it waits. Do not check the calling thread: it may have lost the loop.
        if (Volatile.Read(ref _isWaiting) != 0 && Interlocked.Exchange(ref _isWaiting, 0) != 0)
            Wake();
    }

    /// <summary>Ends the wait. Harmless after the loop has ended: a handler may outlive it.</summary>
    public void Wake() => _wakeUp.Signal();

    /// <summary>Whether a thread has run the loop since the last call. Wakes it, for the next call.</summary>
    public bool HasAnswered()
    {
        var turns = Volatile.Read(ref _turns);
        var hasTurned = turns != _seenTurns || Volatile.Read(ref _isStopping);
        _seenTurns = turns;
        Wake();
        return hasTurned;
    }

    public Task Ended => _ended.Task;

    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Frees the resources of the loop. No thread may run it any longer.</summary>
    public void Dispose()
    {
        _epoll.Dispose();
        _wakeUp.Dispose();
        NativeMemory.Free(_events);
        NativeMemory.Free(ReceiveBuffer);
        _ended.TrySetResult();
    }

    private void Wait(int milliseconds)
    {
        Volatile.Write(ref _turns, _turns + 1);
        _nextEvent = 0;
        _eventCount = 0;
        if (_failed.Count > 0 && milliseconds != 0)
            milliseconds = (int)AcceptFailures.RetryDelay.TotalMilliseconds;
        // Either a thread that queues a connection sees this flag, or this thread sees the connection.
        Interlocked.Exchange(ref _isWaiting, 1);
        if (Volatile.Read(ref _firstToEnd) is null)
            _eventCount = _epoll.Wait(_events, MaxEvents, milliseconds);
        Volatile.Write(ref _isWaiting, 0);
        if (_eventCount < 0)
            OnWaitFailed(Libc.LastError);
        _failed.RemoveAll(static acceptor => acceptor.TryRestart());
    }

    private void OnWaitFailed(int error)
    {
        _eventCount = 0;
        if (_waitsFailed.TryAcquire(out var count))
            ThreadRoot.Report(Log, log => log.WaitFailed(Libc.GetMessage(error), count));
        Thread.Sleep(s_pauseAfterFailure);
    }

    /// <returns>Whether an event started a batch. If not, all events are handled.</returns>
    private bool TryFinishEvents(RunQueue queue)
    {
        while (true)
        {
            EndQueued();
            if (_nextEvent == _eventCount)
                return false;

            var next = EpollEvent.At(_events, _nextEvent++);
            if (next->Data == WakeUpKey)
                _wakeUp.Reset();
            else if (_sources.TryGetValue(next->Data, out var source))
                OnEvent(source, next->Events);
            if (_received is not { } received)
                continue;

            _received = null;
            if (_ready.HasWork)
            {
                queue.Begin(ref _ready, received.Connection.Output, hasMore: _nextEvent < _eventCount);
                return true;
            }

            received.Connection.Output.FlushNow();
        }
    }

    private void OnEvent(IEpollSource source, uint events) => ThreadRoot.Run(
        (source, events, Log), static next => next.source.OnEvent(next.events), Log, static next => Fail(
            next.source as EpollConnection, next.Log));

    private void EndQueued()
    {
        if (Volatile.Read(ref _firstToEnd) is null)
            return;

        for (var connection = Interlocked.Exchange(ref _firstToEnd, null); connection is not null;)
        {
            var next = connection.NextToClose;
            connection.NextToClose = null;
            ThreadRoot.Run(
                (connection, Log), static ending => ending.connection.CloseAsDecided(), Log,
                    static ending => Fail(ending.connection, ending.Log));
            connection = next;
        }
    }

    private static void Fail(EpollConnection? connection, ILogger log)
        => ThreadRoot.Run(
            connection, static connection => connection?.Connection.Fail(), log,
                static connection => connection?.CloseNow());
}
