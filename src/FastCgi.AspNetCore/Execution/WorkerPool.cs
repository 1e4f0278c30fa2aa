namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The worker threads. One is always spare, and taking the last spare one starts another, so that each handler of a burst that blocks finds a
/// thread at once. A thread pool that grows by one or two threads per second would stall the site.
/// </summary>
/// <remarks>
/// A thread holds a reservation while it executes a request that was predicted to keep it, or whose queue was taken from it. The option limits
/// the reservations. Each queue runs on one more thread, without a reservation, so the threads in the application never exceed reservations plus
/// queues. Requests without a reservation wait. So does a queue that the watchdog wants to take, which gets the next one. The same
/// holds when the only threads left are those that .NET needs.
/// </remarks>
internal sealed class WorkerPool(RequestScheduler scheduler, int maxReserved, int queueCount, ThreadPlatform platform, TimeProvider time, ILogger log)
{
    // More at once would only wait for each other: the system creates the threads of a process one by one.
    private const int MaxStartsAtOnce = 16;

    // Borrowed pool threads: enough for queues to continue, but too few to exhaust the pool.
    private const int MaxGuests = 8;

    private readonly Lock _lock = new();
    private readonly LogThrottle _scarceThreads = new(time);
    private readonly List<Worker> _idle = [];
    private readonly Queue<RunQueue> _waitingQueues = new();
    private readonly LinkedList<FastCgiRequest> _waitingRequests = new();

    // Not in the requests: few of them ever wait, and every request would pay for the field.
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

    // A figure for the status needs no lock.
    public int Count => Volatile.Read(ref _count);
    public int ReservedCount => Volatile.Read(ref _reservedCount);
    public int WaitingCount => _waitingRequests.Count;

    /// <summary>Gives a queue a thread. To take it from another thread, call <see cref="TryReserve"/> first.</summary>
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

        // Starting a thread takes time, and this may be a loop: leave it to the threads that are starting.
        if (idle is not null)
            idle.Wake();
        else if (!isThreadComing)
            EnsureSpare();

        // An abort that ran before we enqueued the request could not remove it.
        if (request.HasLeft)
            Leave(request);
    }

    /// <summary>Removes an aborted request, which would keep memory in use while handlers block.</summary>
    public void Leave(FastCgiRequest request)
    {
        lock (_lock)
        {
            if (_waitingNodes.TryGetValue(request, out var node))
                TakeWaiting(node);
        }
    }

    /// <summary>Makes a reservation for a thread whose queue is about to be taken.</summary>
    /// <returns>Whether there was one left. If not, the next one that is released is kept for such a thread.</returns>
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

    public void Release()
    {
        lock (_lock)
            _reservedCount--;
    }

    /// <summary>Called after the watchdog has sampled all queues and made its reservations.</summary>
    public void OnLooked()
    {
        List<Worker>? woken = null;
        lock (_lock)
        {
            // If a handler has returned by itself, its queue needs no reservation. Nothing may wait for that: the next sample may be far away.
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

    /// <summary>Starts a thread if none is spare and too few are starting.</summary>
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

    /// <summary>The server stops: queues no longer wait for a reservation.</summary>
    public void BeginStop()
    {
        lock (_lock)
            _isUnbounded = true;
    }

    /// <summary>Ends idle threads, and the others when they become idle. It may be called more than once.</summary>
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

    public void OnStarted()
    {
        lock (_lock)
            _startingCount--;
    }

    /// <summary>Called when a thread begins or leaves a queue.</summary>
    public void CountQueues(int change)
    {
        lock (_lock)
            _queueCount += change;
    }

    /// <summary>Assigns waiting work to a thread that has none.</summary>
    /// <param name="isAtEnd">Whether the thread must end. If not, and there is no work, it is idle now.</param>
    /// <returns>Whether there was work.</returns>
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
            if (isAtEnd)
                _count--;
            else
                _idle.Add(worker);
            if (worker.IsGuest)
                _guestCount--;
            return false;
        }
    }

    /// <returns>Whether a thread that was idle for long may end.</returns>
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

    // Nothing may delay a stop.
    private bool CanReserve
        => _isUnbounded || (_reservedCount < maxReserved && (!_areThreadsScarce || _idle.Count > 0 || _guestCount < MaxGuests));

    private bool HasReservation => _reservedCount < maxReserved && !_isReservationWanted;

    /// <summary>Counts a thread that the caller must start, if it is wanted and the limit permits it.</summary>
    private bool TryCountStart(int wanted)
    {
        if (_startingCount >= wanted || (_count >= (long)maxReserved + queueCount && !_isUnbounded))
            return false;

        _startingCount++;
        _count++;
        return true;
    }

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
            Volatile.Write(ref _areThreadsScarce, false);
        }
        catch (Exception exception)
        {
            OnStartFailed(exception);
        }
    }

    /// <summary>Waiting work is left to existing threads, but a queue, or a request if no thread ever returns, gets a borrowed pool thread.</summary>
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

    /// <summary>Takes the thread that became idle last, because its stack and caches are warm.</summary>
    private Worker? TakeIdle()
    {
        if (_idle.Count == 0)
            return null;

        var worker = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        return worker;
    }
}
