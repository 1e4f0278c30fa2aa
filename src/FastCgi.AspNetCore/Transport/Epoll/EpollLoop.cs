using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// One loop over epoll: receives, parses, and hands over what became ready. Its events, like the batch of requests, belong to the
/// loop and not to a thread: when the application keeps a thread, another one goes on with the loop.
/// </summary>
internal sealed unsafe class EpollLoop : IDisposable
{
    /// <summary>The bytes of one receive: those of the largest record and its header.</summary>
    public const int ReceiveBufferLength = 64 * 1024;

    private const int MaxEvents = 256;

    // A system that refuses to wait would refuse at once again and again.
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    private readonly ILogger _log;
    private readonly LogThrottle _waitsFailed = new(TimeProvider.System);
    private readonly EpollSources _sources = new();
    private readonly WakeUp _wakeUp = new();
    private readonly EpollHandle _epoll = new();
    private readonly EpollEvent* _events = (EpollEvent*)NativeMemory.AllocZeroed(MaxEvents + 1, (nuint)sizeof(EpollEvent));

    // What the thread that owns the loop works on.
    private int _eventCount;
    private int _nextEvent;
    private ReadyRequests _ready;
    private EpollConnection? _received;
    private EpollConnection? _closing;

    private EpollConnection? _firstToEnd;
    private int _isWaiting;
    private bool _isStopping;

    public EpollLoop(int number, ILogger log)
    {
        Number = number;
        Queue = new RunQueue(TryBeginBatch);
        _log = log;
        ReceiveBuffer = (byte*)NativeMemory.Alloc(ReceiveBufferLength);
        if (Add(_wakeUp, _wakeUp.Descriptor, Libc.EpollIn))
            return;

        var failure = Libc.GetException("epoll_ctl");
        Dispose();
        throw failure;
    }

    /// <summary>Which loop of the engine it is, from 0.</summary>
    public int Number { get; }

    /// <summary>The log of the server.</summary>
    public ILogger Log => _log;

    /// <summary>Where received bytes lie until they are parsed.</summary>
    public byte* ReceiveBuffer { get; }

    /// <summary>The connections, listeners and so on that the loop waits for.</summary>
    public int SourceCount => _sources.Count;

    /// <summary>The requests that became ready, and the thread that owns the loop.</summary>
    public RunQueue Queue { get; }

    private bool TryBeginBatch()
    {
        while (!TryFinishEvents(Queue))
        {
            if (Volatile.Read(ref _isStopping))
            {
                Dispose();
                return false;
            }

            Wait();
        }

        return true;
    }

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
    /// <returns>Whether the system could; if not, an event that was to come may not come.</returns>
    public bool Modify(IEpollSource source, int descriptor, uint events) => _epoll.Modify(descriptor, events, source.Key);

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

    /// <summary>Has the thread of the loop end a connection. Any thread may call it.</summary>
    public void QueueToEnd(EpollConnection connection)
    {
        EpollConnection? first;
        do
        {
            first = Volatile.Read(ref _firstToEnd);
            connection.NextToEnd = first;
        }
        while (Interlocked.CompareExchange(ref _firstToEnd, connection, first) != first);

        // A loop that does not wait looks before it waits. Which thread asks says nothing: its loop may have been taken.
        if (Volatile.Read(ref _isWaiting) != 0 && Interlocked.Exchange(ref _isWaiting, 0) != 0)
            Wake();
    }

    /// <summary>Makes the loop look at what was queued.</summary>
    public void Wake() => _wakeUp.Call();

    /// <summary>Ends the loop. Its connections must be closed.</summary>
    public void Stop()
    {
        Volatile.Write(ref _isStopping, true);
        Wake();
    }

    /// <summary>Frees what the loop owns, when no thread runs it: not any more, or never.</summary>
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
        _eventCount = 0;
        // Either whoever queues a connection sees that we wait, or we see the connection.
        Interlocked.Exchange(ref _isWaiting, 1);
        if (Volatile.Read(ref _firstToEnd) is null)
            _eventCount = _epoll.Wait(_events, MaxEvents, timeoutMilliseconds: -1);
        Volatile.Write(ref _isWaiting, 0);
        if (_eventCount < 0)
            OnWaitFailed(Libc.LastError);
    }

    private void OnWaitFailed(int error)
    {
        _eventCount = 0;
        if (_waitsFailed.TryAcquire(out var count))
            ThreadRoot.Report(_log, log => log.WaitFailed(Libc.GetMessage(error), count));
        Thread.Sleep(s_pauseAfterFailure);
    }

    /// <returns>Whether one of the events has begun a batch; if not, all of them are done.</returns>
    private bool TryFinishEvents(RunQueue queue)
    {
        while (true)
        {
            CloseClosing();
            EndQueued();
            if (_nextEvent == _eventCount)
                return false;

            var next = EpollEvent.At(_events, _nextEvent++);
            if (_sources.Find(next->Data) is { } source)
                OnEvent(source, next->Events);
            if (_received is not { } received)
                continue;

            _received = null;
            if (_ready.HasWork)
            {
                queue.Begin(ref _ready, received.Connection.Output);
                return true;
            }

            received.Connection.Output.FlushNow();
        }
    }

    /// <summary>What fails in the event of one connection ends that connection.</summary>
    private void OnEvent(IEpollSource source, uint events)
    {
        try
        {
            source.OnEvent(events);
        }
        catch (Exception exception)
        {
            OnFailed(source as EpollConnection, exception);
        }
    }

    private void CloseClosing()
    {
        if (_closing is not { } closing)
            return;

        _closing = null;
        try
        {
            closing.CloseNow();
        }
        catch (Exception exception)
        {
            _log.ServerFailed(exception);
        }
    }

    private void EndQueued()
    {
        if (Volatile.Read(ref _firstToEnd) is null)
            return;

        for (var connection = Interlocked.Exchange(ref _firstToEnd, null); connection is not null;)
        {
            var next = connection.NextToEnd;
            connection.NextToEnd = null;
            try
            {
                connection.EndNow();
            }
            catch (Exception exception)
            {
                OnFailed(connection, exception);
            }

            connection = next;
        }
    }

    private void OnFailed(EpollConnection? connection, Exception exception)
    {
        try
        {
            _log.ServerFailed(exception);
            connection?.Connection.Reset();
        }
        catch (Exception failure)
        {
            _log.ServerFailed(failure);
        }

        try
        {
            connection?.CloseNow();
        }
        catch (Exception failure)
        {
            _log.ServerFailed(failure);
        }
    }
}
