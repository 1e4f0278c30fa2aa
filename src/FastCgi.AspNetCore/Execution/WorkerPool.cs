namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The worker threads, and the work that waits for them: loops without a thread, requests, and work of the server. No processor is idle while there is
/// work: a thread that has finished takes the next, and one that takes some wakes another while there is more.
/// </summary>
/// <remarks>
/// A thread needs a seat to execute a request that computes; there is one per processor. Requests that block need no seat, but one of the threads that
/// the option limits. Each loop runs on one more thread. A loop may lack a thread while every seat is taken: the next thread that finishes serves it
/// before it computes again, so that short requests do not wait for long ones.
/// </remarks>
internal sealed partial class WorkerPool(RequestScheduler scheduler, int maxBlocked, int loopCount, int seats, ThreadPlatform platform, TimeProvider time, ILogger log)
{
    // More at once would only wait for each other: the system creates the threads of a process one by one.
    private const int MaxStartsAtOnce = 16;

    // For work of the server while all others are in the application.
    private const int ServerThreads = 2;

    private readonly Lock _lock = new();
    private readonly LogThrottle _scarceThreads = new(time);
    private readonly List<Worker> _idle = [];
    private readonly List<Worker> _watched = [];
    private readonly Queue<RunQueue> _loops = new();
    private readonly Queue<WorkItem> _serverWork = new();
    private readonly Queue<WorkItem> _computing = new();
    private readonly Queue<FastCgiRequest> _blocking = new();
    private int _count;
    private int _startingCount;
    private int _seatCount;
    private int _blockedCount;
    private int _droppedCount;
    private bool _isThreadWanted;
    private bool _wasThreadRefused;
    private bool _wasLoopWaiting;
    private bool _isLoopOverdue;
    private bool _isUnbounded;
    private bool _isStopping;

    // Figures for the status need no lock.
    public int Count => Volatile.Read(ref _count);

    /// <summary>The threads that handlers block.</summary>
    public int BlockedCount => Volatile.Read(ref _blockedCount);

    /// <summary>The requests that wait for a thread because the limit is reached.</summary>
    public int WaitingCount => _blocking.Count;

    /// <summary>Whether no thread is left for a handler that blocks.</summary>
    public bool IsFull => BlockedCount >= maxBlocked;

    /// <summary>Whether requests wait for a seat.</summary>
    public bool HasComputing => _computing.Count > 0;

    /// <summary>Gives a loop its first thread.</summary>
    public void Run(RunQueue loop)
    {
        Worker? woken;
        lock (_lock)
            woken = GiveAway(loop, mayWait: false);
        Wake(woken);
    }

    /// <summary>Runs a request or report that needs a seat.</summary>
    /// <param name="wakes">Whether to wake a thread. If not, the caller soon asks for work.</param>
    public void RunComputing(WorkItem item, bool wakes)
    {
        Worker? woken = null;
        lock (_lock)
        {
            _computing.Enqueue(item);
            if (wakes && _seatCount < seats)
                woken = RemoveIdle();
        }

        if (woken is not null)
            woken.Wake();
        else if (wakes)
            EnsureSpare();
    }

    public void RunBlocking(FastCgiRequest request)
    {
        Worker? woken = null;
        bool isThreadComing;
        lock (_lock)
        {
            if (_blocking.Count == 0 && HasThreadForRequest)
                woken = RemoveIdle();
            if (woken is not null)
                Assign(woken, new WorkItem(request, null), Hold.Thread);
            else
                _blocking.Enqueue(request);
            isThreadComing = _startingCount > 0;
        }

        // Starting a thread takes time, and this may be a loop: leave it to the threads that are starting.
        if (woken is not null)
            woken.Wake();
        else if (!isThreadComing)
            EnsureSpare();
    }

    /// <summary>Runs work that the server owes, even if the application keeps every thread that it may have.</summary>
    public void RunServerWork(WorkItem item)
    {
        Worker? woken;
        lock (_lock)
        {
            _serverWork.Enqueue(item);
            woken = RemoveIdle();
        }

        if (woken is not null)
            woken.Wake();
        else
            EnsureSpare();
    }

    /// <summary>An aborted request may wait here, where it would keep memory in use while handlers block.</summary>
    public void OnDropped()
    {
        lock (_lock)
        {
            if (++_droppedCount <= (_computing.Count + _blocking.Count) / 2)
                return;

            _droppedCount = 0;
            RemoveDropped(_computing, static item => item.Request);
            RemoveDropped(_blocking, static request => request);
        }
    }

    /// <summary>
    /// The thread of a loop has handled all its events. If requests wait for a seat, it executes one, and the loop gets another thread or, if all seats
    /// are taken, waits for the next that is free.
    /// </summary>
    /// <returns>Whether the thread has lost the loop.</returns>
    public bool TryLeaveLoop(Worker worker)
    {
        if (!HasComputing)
            return false;

        Worker? woken;
        lock (_lock)
        {
            if (_computing.Count == 0)
                return false;

            var loop = worker.Loop!;
            worker.Loop = null;
            if (_seatCount < seats)
                Assign(worker, _computing.Dequeue(), Hold.Seat);
            else
                Release(worker);
            woken = GiveAway(loop, mayWait: _seatCount >= seats);
        }

        Wake(woken);
        return true;
    }

    /// <summary>Gives a thread that has finished its work the next.</summary>
    /// <returns>How long the thread waits to be woken; zero if there is work; <see langword="null"/> if it must end.</returns>
    public TimeSpan? FindWork(Worker worker)
    {
        Worker? woken;
        lock (_lock)
        {
            // It was idle for long enough.
            if (_idle.Remove(worker) && TryRetire())
                return null;

            Release(worker);
            if (!TryAssign(worker))
            {
                if (_isStopping)
                {
                    _count--;
                    return null;
                }

                _idle.Add(worker);
                return Worker.IdleTime;
            }

            // The thread of a loop soon takes a request too.
            woken = WakeForRest(taken: worker.Hold == Hold.Loop ? 1 : 0);
        }

        woken?.Wake();
        return TimeSpan.Zero;
    }

    /// <summary>The request is known to block: it needs no seat.</summary>
    public void LeaveSeat(Worker worker)
    {
        Worker? woken = null;
        lock (_lock)
        {
            if (worker.Hold != Hold.Seat || !HasThreadForRequest)
                return;

            Release(worker);
            Take(worker, Hold.Thread);
            woken = WakeForRest();
        }

        Wake(woken);
    }

    /// <summary>The application keeps a thread: takes the loop from it, or the seat, and gives that to another thread.</summary>
    /// <returns>Whether that was possible, or is not necessary any more.</returns>
    public bool TryTake(Worker worker, ref long call, Hold hold)
    {
        Worker? woken;
        lock (_lock)
        {
            if (hold == Hold.Thread && !HasThread)
            {
                // The next thread that returns is kept for this.
                _isThreadWanted = Worker.GetHold(call) == Hold.Loop;
                _wasThreadRefused = true;
                return false;
            }

            var loop = Worker.GetHold(call) == Hold.Loop ? worker.Loop : null;
            var before = Worker.GetHold(call);
            if (!worker.TryChange(ref call, hold))
                return true;

            CountHold(before, -1);
            CountHold(hold, 1);
            Watch(worker, hold);
            if (loop is not null)
                worker.Loop = null;
            woken = loop is null ? WakeForRest() : GiveAway(loop, mayWait: false);
        }

        Wake(woken);
        return true;
    }

    /// <summary>Copies the threads that hold a loop or a seat.</summary>
    public void GetWatched(List<Worker> watched)
    {
        lock (_lock)
            watched.AddRange(_watched);
    }

    /// <summary>Called after the watchdog has sampled all threads.</summary>
    public void OnSampled()
    {
        Worker? woken = null;
        lock (_lock)
        {
            // If a handler has returned by itself, its loop needs no thread. Nothing may wait for that: the next sample may be far away.
            if (!_wasThreadRefused || HasThread)
                _isThreadWanted = false;
            _wasThreadRefused = false;
            // All seats are taken, and nobody has finished since the previous sample.
            if (_loops.Count > 0 && _wasLoopWaiting)
                woken = GiveAway(_loops.Dequeue(), mayWait: false);
            _wasLoopWaiting = _loops.Count > 0;
            _isLoopOverdue &= _wasLoopWaiting;
            woken ??= WakeForRest();
        }

        Wake(woken);
    }

    /// <summary>The server stops: loops no longer wait for a thread.</summary>
    public void BeginStop()
    {
        lock (_lock)
            _isUnbounded = true;
    }

    // Nothing may delay a stop.
    private bool HasThread => _isUnbounded || _blockedCount < maxBlocked;

    private bool HasThreadForRequest => _blockedCount < maxBlocked && !_isThreadWanted;

    private bool TryAssign(Worker worker)
    {
        if (_serverWork.TryDequeue(out var item))
            Assign(worker, item, Hold.Nothing);
        else if ((_seatCount < seats || _isLoopOverdue) && _loops.TryDequeue(out var loop))
            Assign(worker, loop);
        else if (_seatCount < seats && _computing.TryDequeue(out item))
            Assign(worker, item, Hold.Seat);
        else if (HasThreadForRequest && _blocking.TryDequeue(out var request))
            Assign(worker, new WorkItem(request, null), Hold.Thread);
        else
            return false;

        return true;
    }

    /// <summary>Takes an idle thread if there is more work that can be done now. It does the same.</summary>
    /// <param name="taken">The requests, and seats, that the caller will take.</param>
    private Worker? WakeForRest(int taken = 0)
    {
        var hasWork = _serverWork.Count > 0 || (_seatCount + taken < seats && (_loops.Count > 0 || _computing.Count > taken))
            || (HasThreadForRequest && _blocking.Count > 0);
        return hasWork ? RemoveIdle() : null;
    }

    /// <summary>The thread of a loop is busy with short requests. Others must not wait for it.</summary>
    public void WakeForComputing()
    {
        Worker? woken;
        lock (_lock)
            woken = WakeForRest();
        woken?.Wake();
    }

    /// <summary>Gives a loop to an idle thread, or to the next that is free.</summary>
    private Worker? GiveAway(RunQueue loop, bool mayWait)
    {
        var idle = mayWait ? null : RemoveIdle();
        if (idle is null)
            _loops.Enqueue(loop);
        else
            Assign(idle, loop);
        _isLoopOverdue |= idle is null && !mayWait;
        return idle;
    }

    private static void RemoveDropped<T>(Queue<T> queue, Func<T, FastCgiRequest?> getRequest)
    {
        for (var i = queue.Count; i > 0; i--)
        {
            var item = queue.Dequeue();
            if (getRequest(item) is not { HasLeft: true })
                queue.Enqueue(item);
        }
    }
}
