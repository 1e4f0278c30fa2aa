namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// Gives its connections turns to receive and close, and starts their requests. One thread at a time runs it; if the
/// application keeps that thread, another continues. Other threads use its inbox.
/// </summary>
internal abstract class EventLoop : IDisposable
{
    // Connections that want a turn, and requests that became ready outside of a turn.
    private readonly Queue<(LoopConnection Connection, ReadyRequests Ready)> _inbox = new();
    private readonly Lock _lock = new();
    private readonly TaskCompletionSource _ended = new();
    private int _inboxCount;
    private int _sourceCount;

    // Used only by the thread that owns the loop. The inbox is emptied twice for each wait: what comes later must wait,
    // so that connections which post all the time do not keep the others from receiving.
    private int _dueCount;
    private bool _mayRecheckInbox;
    private ReadyRequests _ready;
    private LoopConnection? _receiver;

    private long _turns;
    private long _seenTurns;
    private int _isWaiting;
    private bool _isStopping;

    protected EventLoop(ILogger log)
    {
        Log = log;
        Queue = new RunQueue(TryBeginBatch);
    }

    public ILogger Log { get; }
    public RunQueue Queue { get; }
    public int SourceCount => Volatile.Read(ref _sourceCount);
    public Task Ended => _ended.Task;

    /// <summary>Whether the last wait has returned events that are not yet handled.</summary>
    protected abstract bool HasEvent { get; }

    /// <summary>Makes the loop give a connection a turn, or run its requests. Any thread may call it.</summary>
    public void Post(LoopConnection connection, ReadyRequests ready = default)
    {
        using (_lock.Acquire())
        {
            _inbox.Enqueue((connection, ready));
            Volatile.Write(ref _inboxCount, _inbox.Count);
        }

        // A running loop checks before it waits. Do not check the calling thread: it may have lost the loop.
        if (Interlocked.Exchange(ref _isWaiting, 0) != 0)
            Wake();
    }

    public ref ReadyRequests BeginReady(LoopConnection connection)
    {
        _receiver = connection;
        return ref _ready;
    }

    public void CountSource(int change) => Interlocked.Add(ref _sourceCount, change);

    /// <summary>Ends the wait. Harmless after the loop has ended: a handler may outlive it.</summary>
    public abstract void Wake();

    /// <summary>Whether a thread has run the loop since the last call. Wakes it, for the next call.</summary>
    public bool HasAnswered()
    {
        var turns = Volatile.Read(ref _turns);
        var hasTurned = turns != _seenTurns || Volatile.Read(ref _isStopping);
        _seenTurns = turns;
        Wake();
        return hasTurned;
    }

    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Frees the resources of the loop. No thread may run it any longer.</summary>
    public void Dispose()
    {
        Free();
        _ended.TrySetResult();
    }

    protected abstract void Free();

    protected abstract void WaitForEvents(int milliseconds);

    protected abstract void HandleEvent();

    private BatchResult TryBeginBatch(BatchSource source)
    {
        while (!TryFinishEvents(Queue))
        {
            if (Volatile.Read(ref _isStopping) && Volatile.Read(ref _inboxCount) == 0)
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

    private void Wait(int milliseconds)
    {
        Volatile.Write(ref _turns, _turns + 1);
        // Either a thread that posts sees this flag, or this thread sees what it has posted.
        Interlocked.Exchange(ref _isWaiting, 1);
        WaitForEvents(Volatile.Read(ref _inboxCount) == 0 ? milliseconds : 0);
        Volatile.Write(ref _isWaiting, 0);
        _dueCount = Volatile.Read(ref _inboxCount);
        _mayRecheckInbox = true;
    }

    /// <returns>Whether a turn or an event started a batch. If not, all are handled.</returns>
    private bool TryFinishEvents(RunQueue queue)
    {
        while (HasDue() || HasEvent)
        {
            if (_dueCount > 0)
                HandlePosted();
            else
                HandleEvent();
            if (_receiver is not { } receiver)
                continue;

            _receiver = null;
            if (_ready.HasWork)
            {
                queue.Begin(ref _ready, receiver.Connection.Output, hasMore: _dueCount > 0 || HasEvent);
                return true;
            }

            receiver.Connection.Output.FlushNow();
        }

        return false;
    }

    private bool HasDue()
    {
        // For example, an event has closed a connection.
        if (_dueCount == 0 && _mayRecheckInbox && !HasEvent)
        {
            _mayRecheckInbox = false;
            _dueCount = Volatile.Read(ref _inboxCount);
        }

        return _dueCount > 0;
    }

    private void HandlePosted()
    {
        _dueCount--;
        (LoopConnection Connection, ReadyRequests Ready) posted;
        using (_lock.Acquire())
        {
            posted = _inbox.Dequeue();
            Volatile.Write(ref _inboxCount, _inbox.Count);
        }

        if (posted.Ready.HasWork)
            BeginReady(posted.Connection) = posted.Ready;
        else
            ThreadRoot.Run(
                posted.Connection, static connection => connection.TakeTurn(), Log,
                    static connection => connection.Fail());
    }
}
