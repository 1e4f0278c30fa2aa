using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The threads of the room. One is always spare, and whoever takes the last spare thread starts another, so that a burst of handlers
/// that block finds a thread each at once: a thread pool that grows by one or two a second is what makes a site stand still.
/// </summary>
/// <remarks>
/// A thread that executes a request which others need not wait for holds a reservation, of which there are as many as the option
/// says: for a request that was predicted to keep its thread, or because its queue was taken from it. Each queue runs on one
/// thread more, which holds none. So there are never more threads in the application than reservations and queues.
/// Requests without a reservation wait; so does a queue that is to be taken, which comes first when one is released. The same is so when
/// the system has no thread left but those that .NET needs.
/// </remarks>
internal sealed class WorkerPool(RequestScheduler scheduler, int maxReserved, int queueCount, ThreadPlatform platform, TimeProvider time, ILogger log)
{
    // More at once only wait for each other: the system makes the threads of a process one by one.
    private const int MaxStartsAtOnce = 16;

    // Threads of the thread pool, which are enough for queues to go on, and not so many that the pool lacks one.
    private const int MaxGuests = 8;

    private readonly Lock _lock = new();
    private readonly LogThrottle _scarceThreads = new(time);
    private readonly List<Worker> _idle = [];
    private readonly Queue<RunQueue> _waitingQueues = new();
    private readonly LinkedList<FastCgiRequest> _waitingRequests = new();

    // Here and not in the requests: few of them ever wait, and each that is held would pay for it.
    private readonly Dictionary<FastCgiRequest, LinkedListNode<FastCgiRequest>> _waitingNodes = new(ReferenceEqualityComparer.Instance);
    private int _count;
    private int _startingCount;
    private int _queueCount;
    private int _reservedCount;
    private int _guestCount;
    private bool _isReservationWanted;
    private bool _wasReservationRefused;
    private bool _areThreadsScarce;
    private bool _isUnbounded;
    private bool _isStopping;

    /// <summary>The threads that exist, or are starting.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
                return _count;
        }
    }

    /// <summary>The reservations that are in use.</summary>
    public int ReservedCount
    {
        get
        {
            lock (_lock)
                return _reservedCount;
        }
    }

    /// <summary>The requests that wait for a thread.</summary>
    public int WaitingCount
    {
        get
        {
            lock (_lock)
                return _waitingRequests.Count;
        }
    }

    /// <summary>Gives a queue a thread. Whoever took it from another thread has made a reservation before.</summary>
    public void Run(RunQueue queue)
    {
        Worker? idle;
        var starts = false;
        lock (_lock)
        {
            idle = TakeIdle();
            if (idle is not null)
            {
                idle.Assign(queue, request: null);
            }
            else
            {
                _waitingQueues.Enqueue(queue);
                starts = TryCountStart(_waitingQueues.Count);
            }
        }

        idle?.Wake();
        if (starts)
            Start();
    }

    /// <summary>Gives a request a thread.</summary>
    public void Run(FastCgiRequest request)
    {
        Worker? idle = null;
        bool isThreadComing;
        lock (_lock)
        {
            if (_waitingRequests.Count == 0 && HasReservation)
                idle = TakeIdle();
            if (idle is not null)
            {
                _reservedCount++;
                idle.Assign(queue: null, request);
            }
            else
            {
                _waitingNodes.Add(request, _waitingRequests.AddLast(request));
            }

            isThreadComing = _startingCount > 0;
        }

        // To start a thread takes its time, and this may be a loop: it leaves that to the threads that are starting.
        if (idle is not null)
            idle.Wake();
        else if (!isThreadComing)
            EnsureSpare();

        // A thread that aborted it in this instant has not found it here.
        if (request.HasLeft)
            Leave(request);
    }

    /// <summary>A request is aborted: it waits no longer, because it would use memory that nobody needs as long as handlers block.</summary>
    public void Leave(FastCgiRequest request)
    {
        lock (_lock)
        {
            if (_waitingNodes.TryGetValue(request, out var node))
                TakeWaiting(node);
        }
    }

    /// <summary>Makes a reservation, for a thread whose queue is about to be taken.</summary>
    /// <returns>Whether there was one left; if not, the next that is released is for such a thread.</returns>
    public bool TryReserve()
    {
        lock (_lock)
        {
            if (CanReserve)
            {
                _reservedCount++;
                return true;
            }

            _isReservationWanted = true;
            _wasReservationRefused = true;
            return false;
        }
    }

    /// <summary>Releases a reservation.</summary>
    public void Release()
    {
        lock (_lock)
            _reservedCount--;
    }

    /// <summary>The watchdog has looked at all queues, and reserved for those that it wanted to take.</summary>
    public void OnLooked()
    {
        List<Worker>? woken = null;
        lock (_lock)
        {
            // A queue whose handler has come back by itself asks no more, and nothing may wait for it: the next look may be far away.
            if (!_wasReservationRefused || CanReserve)
                _isReservationWanted = false;
            _wasReservationRefused = false;
            while (HasReservation && _waitingRequests.Count > 0 && TakeIdle() is { } idle)
            {
                _reservedCount++;
                idle.Assign(queue: null, TakeWaiting(_waitingRequests.First!));
                (woken ??= []).Add(idle);
            }
        }

        woken?.ForEach(static worker => worker.Wake());
    }

    /// <summary>Starts a thread if none is spare, unless as many are starting as are wanted.</summary>
    public void EnsureSpare()
    {
        bool starts;
        lock (_lock)
        {
            var wanted = Math.Min(_waitingRequests.Count, maxReserved - _reservedCount) + _waitingQueues.Count;
            starts = _idle.Count == 0 && !_isStopping && TryCountStart(Math.Clamp(wanted, 1, MaxStartsAtOnce));
        }

        if (starts)
            Start();
    }

    /// <summary>The server stops: no queue waits for a reservation any longer.</summary>
    public void BeginStop()
    {
        lock (_lock)
            _isUnbounded = true;
    }

    /// <summary>Ends the idle threads, and the others when they become idle. It may be called more than once.</summary>
    public void Stop()
    {
        List<Worker> idle;
        lock (_lock)
        {
            _isStopping = true;
            idle = [.. _idle];
        }

        foreach (var worker in idle)
            worker.Wake();
    }

    /// <summary>A new thread has begun.</summary>
    public void OnStarted()
    {
        lock (_lock)
            _startingCount--;
    }

    /// <summary>A thread begins with a queue, or leaves it.</summary>
    public void CountQueues(int change)
    {
        lock (_lock)
            _queueCount += change;
    }

    /// <summary>Gives a thread that has nothing to do what waits for a thread.</summary>
    /// <param name="worker">The thread.</param>
    /// <param name="isAtEnd">Whether the thread is at its end; if not, it is idle now.</param>
    /// <returns>Whether anything did.</returns>
    public bool TryFindWork(Worker worker, out bool isAtEnd)
    {
        isAtEnd = false;
        lock (_lock)
        {
            if (_waitingQueues.TryDequeue(out var queue))
            {
                worker.Assign(queue, request: null);
                return true;
            }

            if (HasReservation && _waitingRequests.First is { } first)
            {
                _reservedCount++;
                worker.Assign(queue: null, TakeWaiting(first));
                return true;
            }

            isAtEnd = worker.IsGuest || _isStopping;
            if (!isAtEnd)
            {
                _idle.Add(worker);
                return false;
            }

            _count--;
            if (worker.IsGuest)
                _guestCount--;
            return false;
        }
    }

    /// <summary>A thread has been idle for long.</summary>
    /// <returns>Whether it may end.</returns>
    public bool TryRetire(Worker worker)
    {
        lock (_lock)
        {
            if ((_idle.Count == 1 && !_isStopping) || !_idle.Remove(worker))
                return false;

            _count--;
            return true;
        }
    }

    // When the server stops, nothing may stand in its way.
    private bool CanReserve
        => _isUnbounded || (_reservedCount < maxReserved && (!_areThreadsScarce || _idle.Count > 0 || _guestCount < MaxGuests));

    private bool HasReservation => _reservedCount < maxReserved && !_isReservationWanted;

    /// <summary>Counts a thread that is about to be started, if it is wanted and there may be one more.</summary>
    private bool TryCountStart(int wanted)
    {
        if (_startingCount >= wanted || (_count >= (long)maxReserved + queueCount && !_isUnbounded))
            return false;

        _startingCount++;
        _count++;
        return true;
    }

    /// <summary>Starts a thread that was counted.</summary>
    private void Start()
    {
        if (platform.AreThreadsScarce)
        {
            OnStartFailed(exception: null);
            return;
        }

        try
        {
            platform.Start("FastCgi application", new Worker(this, scheduler));
        }
        catch (Exception exception)
        {
            OnStartFailed(exception);
            return;
        }

        Volatile.Write(ref _areThreadsScarce, false);
    }

    /// <summary>
    /// What waits is for the threads that exist; but a queue cannot wait for handlers that block, nor a request for threads that never
    /// come back, so they go to the thread pool.
    /// </summary>
    private void OnStartFailed(Exception? exception)
    {
        int count;
        bool needsGuest;
        lock (_lock)
        {
            _areThreadsScarce = true;
            _startingCount--;
            count = --_count;
            needsGuest = _idle.Count == 0 && (_waitingQueues.Count > 0 || (_waitingRequests.Count > 0 && _count - _queueCount <= 0));
            if (needsGuest)
            {
                _count++;
                _guestCount++;
            }

        }

        if (needsGuest)
            platform.StartOnThreadPool(new Worker(this, scheduler) { IsGuest = true });
        if (_scarceThreads.TryAcquire(out _))
            log.ThreadsOutOfResources(count, exception);
    }

    private FastCgiRequest TakeWaiting(LinkedListNode<FastCgiRequest> node)
    {
        _waitingRequests.Remove(node);
        _waitingNodes.Remove(node.Value);
        return node.Value;
    }

    /// <summary>The thread that has become idle last, whose stack and caches are warm.</summary>
    private Worker? TakeIdle()
    {
        if (_idle.Count == 0)
            return null;

        var worker = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        return worker;
    }
}
