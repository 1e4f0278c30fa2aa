namespace FastCgi.AspNetCore.Execution;

/// <summary>The worker threads, and the work that waits for them in one queue for each <see cref="Permit"/>.</summary>
/// <remarks>
/// No processor is idle while there is work: a thread that takes work wakes another if there is more. A request that
/// computes needs a seat, of which there is one per processor. One that blocks needs none, but the number of such
/// threads is limited. Each loop runs on an additional thread. A loop may lack one while every seat is taken: the next
/// thread that finishes serves it before it computes again, so that short requests do not wait for long ones.
/// </remarks>
internal sealed partial class WorkerPool(
    RequestScheduler scheduler,
    int maxBlocked,
    int loopCount,
    int seats,
    ThreadPlatform platform,
    TimeProvider time,
    ILogger log)
{
    // Starting more at once gains nothing: the system creates the threads of a process one by one.
    private const int MaxStartsAtOnce = 16;

    // For the server while all other threads run the application. One of them never calls anything that may block.
    private const int ServerThreads = 3;

    private readonly Lock _lock = new();
    private readonly LogThrottle _scarceThreads = new(time);
    private readonly List<Worker> _idle = [];
    private readonly HashSet<Worker> _watched = [];
    private readonly WorkQueue[] _waiting = [new(), new(), new(), new(), new()];
    private readonly int[] _held = new int[5];

    private int _count;
    private int _startingCount;

    // The number of woken threads that have not taken work yet. Waking more for it wastes thread switches.
    private int _wakingCount;

    private readonly BriefSleepers _sleepers = new(seats);
    private bool _wasLoopWaiting;
    private bool _isLoopOverdue;
    private bool _isUnbounded;
    private bool _isStopping;

    public FirstRequest First { get; } = new();

    // The status reads these without the lock.
    public int Count => Volatile.Read(ref _count);

    public int BlockedCount => Volatile.Read(ref _held[(int)Permit.Thread]);

    /// <summary>The number of requests that wait for a thread because the limit is reached.</summary>
    public int WaitingCount => _waiting[(int)Permit.Thread].Count;

    /// <summary>Whether no thread is left for a handler that blocks.</summary>
    public bool IsFull => LongCount >= maxBlocked;

    /// <summary>Whether a call blocked a loop when no thread was left. Then, loops only respond to pings.</summary>
    public bool IsOverfull => LongCount > maxBlocked;

    /// <summary>Whether a loop must leave the server's own calls, which may block, to the threads for them.</summary>
    public bool IsServerBlocked => IsOverfull || !HasRoom(Permit.Server);

    public int ServerWaitingCount => _waiting[(int)Permit.Server].Count;

    // The number of threads that handlers block or that compute without a seat.
    private int LongCount => BlockedCount + Math.Max(0, Volatile.Read(ref _held[(int)Permit.Seat]) - seats);

    public bool HasComputing => _waiting[(int)Permit.Seat].Count > 0;

    public bool HasWaiting => HasComputing || _waiting[(int)Permit.Loop].Count > 0;

    /// <param name="requests">The number of requests that the caller will take.</param>
    /// <param name="processors">The number of processors that the caller uses without a seat.</param>
    public void Run(WorkItem item, Permit permit, int requests = 0, int processors = 0)
    {
        Worker? woken = null;
        bool needsThread;
        using (_lock.Acquire())
        {
            _waiting[(int)permit].Enqueue(item);
            _isLoopOverdue |= permit == Permit.Loop;
            needsThread = HasUnclaimedWork(requests, processors);
            if (needsThread)
                woken = RemoveIdle();
            // Starting a thread takes time, and this may be a loop: leave it to the threads that are starting.
            needsThread &= woken is not null || permit != Permit.Thread || _startingCount == 0;
        }

        if (needsThread)
            Wake(woken);
        // Only a sample raises the limit of requests that sleep, and those that run may wait for this one.
        if (permit == Permit.Thread)
            scheduler.Watchdog.OnActivity();
    }

    /// <summary>Called when a request has returned, or when no request may wait any longer.</summary>
    public void EndFirst()
    {
        if (First.IsOver)
            return;

        First.End();
        WakeForWaiting();
    }

    /// <summary>
    /// Called when the thread of a loop has handled all events. If requests wait for a seat, it leaves the loop to the
    /// next thread and executes one. Otherwise it waits for events, and another thread gets its processor.
    /// </summary>
    public bool TryLeaveLoop(Worker worker)
    {
        if (!HasWaiting)
            return false;

        bool isLeft;
        Worker? woken;
        using (_lock.Acquire())
        {
            var isSeatFree = HasRoom(Permit.Seat);
            // A loop that has waited too long runs although all seats are taken, and must not be left at once.
            isLeft = HasComputing && (isSeatFree || !_isLoopOverdue);
            if (isLeft)
                LeaveLoop(worker, isSeatFree);
            else if (!HasUnclaimedWork())
                return false;

            woken = RemoveIdleForWork();
        }

        Wake(woken);
        return isLeft;
    }

    /// <summary>Assigns the next work to a thread.</summary>
    /// <returns>How long the thread must wait for work; zero if there is work; null if it must end.</returns>
    public TimeSpan? FindWork(Worker worker)
    {
        bool hasUnclaimedWork;
        Worker? woken;
        using (_lock.Acquire())
        {
            var wasIdle = _idle.Remove(worker);
            if (worker.IsWaking)
                _wakingCount--;
            worker.IsWaking = false;
            Take(worker, Permit.None);
            if (!(wasIdle && _idle.Count > 0) && TryAssign(worker))
            {
                // The thread of a loop soon takes a request too, unless it must finish a batch first.
                var processors = worker.Permit == Permit.Loop ? 1 : 0;
                hasUnclaimedWork = HasUnclaimedWork(requests: worker.Loop?.Output is null ? processors : 0, processors);
                woken = hasUnclaimedWork ? RemoveIdle() : null;
            }
            else if (_isStopping || (wasIdle && _idle.Count > 0))
            {
                _count--;
                return null;
            }
            else
            {
                _idle.Add(worker);
                return Worker.IdleTime;
            }
        }

        if (hasUnclaimedWork)
            Wake(woken);
        return TimeSpan.Zero;
    }

    /// <summary>Gives another thread the loop or seat of a thread that the application keeps.</summary>
    /// <returns>Whether this was possible. If not, the thread keeps it, or the call is over.</returns>
    public bool TryTake(Worker worker, ref long call, Permit permit)
    {
        Worker? woken;
        using (_lock.Acquire())
        {
            var before = Worker.GetPermit(call);
            // A loop gets another thread even beyond the limit, for the responses of the server itself. A stop ignores
            // the limit.
            if (permit == Permit.Thread && before != Permit.Loop && IsFull && !_isUnbounded)
                return false;

            if (permit == Permit.Server && !HasRoom(Permit.Server))
                permit = Permit.Thread;
            if (!worker.TryChange(ref call, permit))
                return false;

            CountPermit(worker, before, permit);
            if (before == Permit.Loop)
            {
                QueueLoopOf(worker);
                _isLoopOverdue = true;
            }

            woken = RemoveIdleForWork();
        }

        Wake(woken);
        return true;
    }

    public void GetWatched(List<Worker> watched)
    {
        using (_lock.Acquire())
            watched.AddRange(_watched);
    }

    public void OnSlept(CallCost cost)
    {
        using (_lock.Acquire())
            _sleepers.OnSlept(cost);
    }

    /// <summary>Called after the watchdog has sampled all threads.</summary>
    /// <param name="processors">The number of processors that the threads of loops use.</param>
    /// <returns>Whether there is work that a thread can do now, or after the next samples.</returns>
    public bool OnSampled(int processors)
    {
        bool isLimited;
        First.OnSampled();
        using (_lock.Acquire())
        {
            // All seats are taken, and no thread that finished has served a loop since the previous sample.
            var isLoopWaiting = _waiting[(int)Permit.Loop].Count > 0;
            _isLoopOverdue = isLoopWaiting && (_isLoopOverdue || _wasLoopWaiting);
            _wasLoopWaiting = isLoopWaiting;
            _sleepers.OnSampled();
            isLimited = WaitingCount > 0 && _sleepers.Room <= 0;
        }

        if (WaitingCount > 0 && BlockedCount >= platform.MaxHandlerThreads)
            WarnOfScarceThreads(Count, exception: null);
        return WakeForWaiting(processors) || isLimited;
    }

    /// <summary>Wakes a thread if there is work that can be done now.</summary>
    /// <param name="processors">The number of processors that are in use without a seat.</param>
    public bool WakeForWaiting(int processors = 0)
    {
        Worker? woken;
        using (_lock.Acquire())
        {
            if (!HasUnclaimedWork(processors: processors))
                return false;

            woken = RemoveIdle();
        }

        Wake(woken);
        return true;
    }

    /// <summary>Prepares a stop: loops no longer wait for a thread, nor requests for the first request.</summary>
    public void BeginStop()
    {
        using (_lock.Acquire())
            _isUnbounded = true;
        EndFirst();
    }
}
