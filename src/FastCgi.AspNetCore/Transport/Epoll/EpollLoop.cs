using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// One loop over epoll: receives, parses, and runs the application inline. What it has taken in hand, its batch, belongs to the loop
/// and not to a thread, so that when the application keeps a thread, another one takes the loop with the rest of the batch.
/// </summary>
internal sealed unsafe class EpollLoop : IDisposable
{
    /// <summary>The bytes of one receive: those of the largest record and its header.</summary>
    public const int ReceiveBufferLength = 64 * 1024;

    private const int MaxEvents = 256;

    private readonly ApplicationScheduler _scheduler;
    private readonly EpollSources _sources = new();
    private readonly WakeUp _wakeUp;
    private readonly EpollHandle _epoll = new();
    private readonly EpollEvent* _events = (EpollEvent*)NativeMemory.AllocZeroed(MaxEvents + 1, (nuint)sizeof(EpollEvent));

    // The batch.
    private int _eventCount;
    private int _nextEvent;
    private ReadyRequests _ready;
    private EpollConnection? _received;
    private EpollConnection? _closing;

    // 0, or the number of the call of the application that the thread of the loop is in.
    private long _call;
    private long _lastCall;
    private EpollConnection? _firstToEnd;
    private bool _isStopping;

    public EpollLoop(ApplicationScheduler scheduler)
    {
        _scheduler = scheduler;
        ReceiveBuffer = (byte*)NativeMemory.Alloc(ReceiveBufferLength);
        _wakeUp = new WakeUp();
        if (!Add(_wakeUp, _wakeUp.Descriptor, Libc.EpollIn))
            throw Libc.GetException("epoll_ctl");
    }

    /// <summary>Where received bytes lie until they are parsed.</summary>
    public byte* ReceiveBuffer { get; }

    /// <summary>The thread that runs the loop now.</summary>
    public ApplicationThread? Thread { get; private set; }

    /// <summary>The connections, listeners and so on that the loop waits for.</summary>
    public int SourceCount => _sources.Count;

    /// <summary>The response of the request that the application was called for last.</summary>
    public (ResponseOutput? Response, int Generation) CurrentResponse { get; private set; }

    /// <summary>The call of the application that the loop is in, or 0. Each has a number of its own.</summary>
    public long CurrentCall => Volatile.Read(ref _call);

    /// <summary>The calls of the application so far.</summary>
    public long CallCount => Volatile.Read(ref _lastCall);

    /// <summary>The path of the request that the application was called for last.</summary>
    public int CurrentPathHash { get; private set; }

    /// <summary>Runs the loop until it stops, which gives back what it holds, or until another thread has taken it.</summary>
    public void Run(ApplicationThread thread)
    {
        Thread = thread;
        while (FinishBatch(thread))
        {
            if (Volatile.Read(ref _isStopping))
            {
                Dispose();
                return;
            }

            Wait();
        }
    }

    /// <summary>Takes the loop from a thread that the application keeps in the given call, to give it to another.</summary>
    public bool TryTake(long call) => Interlocked.CompareExchange(ref _call, 0, call) == call;

    /// <summary>Waits for a source from now on. Any thread may call it.</summary>
    /// <returns>Whether the system could.</returns>
    public bool Add(IEpollSource source, int descriptor, uint events)
    {
        _sources.Add(source);
        if (_epoll.Add(descriptor, events, source.Key))
            return true;

        _sources.Remove(source);
        return false;
    }

    /// <summary>Changes what is waited for, and looks anew whether it is so already. Any thread may call it.</summary>
    public void Modify(IEpollSource source, int descriptor, uint events) => _epoll.Modify(descriptor, events, source.Key);

    /// <summary>Forgets a source, whose descriptor is about to be closed.</summary>
    public void Remove(IEpollSource source) => _sources.Remove(source);

    /// <summary>Forgets a source whose descriptor lives on.</summary>
    public void Forget(IEpollSource source, int descriptor)
    {
        _epoll.Delete(descriptor);
        _sources.Remove(source);
    }

    /// <summary>The requests that become ready now are of this connection.</summary>
    public ref ReadyRequests BeginReady(EpollConnection connection)
    {
        _received = connection;
        return ref _ready;
    }

    /// <summary>Closes a connection when the requests that its last bytes made ready were executed.</summary>
    public void CloseAfterBatch(EpollConnection connection) => _closing = connection;

    /// <summary>Lets the thread of the loop end a connection. Any thread may call it.</summary>
    public void QueueToEnd(EpollConnection connection)
    {
        EpollConnection? first;
        do
        {
            first = Volatile.Read(ref _firstToEnd);
            connection.NextToEnd = first;
        }
        while (Interlocked.CompareExchange(ref _firstToEnd, connection, first) != first);

        if (ApplicationThread.Current?.Loop != this)
            Wake();
    }

    /// <summary>Makes the loop look at what was queued.</summary>
    public void Wake() => _wakeUp.Call();

    /// <summary>Runs something on the thread of the loop.</summary>
    public void Post(Action action)
    {
        _wakeUp.Actions.Enqueue(action);
        Wake();
    }

    /// <summary>Ends the loop. Its connections must be closed.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Gives back what the loop holds, when no thread runs it: not any more, or never.</summary>
    public void Dispose()
    {
        _epoll.Dispose();
        _wakeUp.Dispose();
        NativeMemory.Free(_events);
        NativeMemory.Free(ReceiveBuffer);
    }

    private void Wait()
    {
        _nextEvent = 0;
        _eventCount = _epoll.Wait(_events, MaxEvents, timeoutMilliseconds: -1);
    }

    /// <returns>Whether this thread still runs the loop.</returns>
    private bool FinishBatch(ApplicationThread thread)
    {
        while (ExecuteReady(thread))
        {
            EndQueued();
            if (_nextEvent == _eventCount)
                return true;

            // The place moves on first, so that whoever takes the loop takes it behind this event.
            var next = EpollEvent.At(_events, _nextEvent++);
            _sources.Find(next->Data)?.OnEvent(next->Events);
        }

        return false;
    }

    /// <returns>Whether this thread still runs the loop.</returns>
    private bool ExecuteReady(ApplicationThread thread)
    {
        if (_received is not { } received)
        {
            CloseClosing();
            return true;
        }

        var output = received.Connection.Output;
        while (!_ready.IsEmpty)
        {
            var request = _ready.RemoveFirst();
            var path = request.PathHash;
            if (!_scheduler.TryDispatch(request, path) && !Execute(request, path, output, thread))
                return false;
        }

        _received = null;
        output.FlushNow();
        foreach (var report in _ready.TakeReports())
            report();
        CloseClosing();
        return true;
    }

    /// <returns>Whether this thread still runs the loop.</returns>
    private bool Execute(FastCgiRequest request, int pathHash, RecordOutput output, ApplicationThread thread)
    {
        var response = request.Response.Output;
        var generation = response.Generation;
        response.Cork(sendsAtEnd: _ready.IsEmpty);
        CurrentResponse = (response, generation);
        var call = _lastCall + 1;
        CurrentPathHash = pathHash;
        Volatile.Write(ref _lastCall, call);
        Volatile.Write(ref _call, call);
        _scheduler.OnActivity();

        var hasReturned = request.Execute();

        _scheduler.OnReturned(pathHash, isAwaiting: !hasReturned);
        var isStillOurs = Interlocked.CompareExchange(ref _call, 0, call) == call;
        if (!hasReturned)
            response.Yield(generation);
        thread.ResetExecutionContext();
        if (!isStillOurs)
        {
            // The loop has gone on meanwhile; what it flushed did not have what this request wrote since, nor ended what it asked to end.
            output.FlushNow();
            Wake();
        }

        return isStillOurs;
    }

    private void CloseClosing()
    {
        var closing = _closing;
        _closing = null;
        closing?.CloseNow(isReset: false);
    }

    private void EndQueued()
    {
        if (Volatile.Read(ref _firstToEnd) is null)
            return;

        for (var connection = Interlocked.Exchange(ref _firstToEnd, null); connection is not null;)
        {
            var next = connection.NextToEnd;
            connection.NextToEnd = null;
            connection.End();
            connection = next;
        }
    }
}
