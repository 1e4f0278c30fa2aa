namespace FastCgi.AspNetCore.Execution;

/// <content>The threads: their start, their end, and the assignment of work.</content>
internal sealed partial class WorkerPool
{
    public void EnsureSpare()
    {
        using (_lock.Acquire())
        {
            if (_idle.Count > 0 || _isStopping || !TryCountStart())
                return;
        }

        try
        {
            platform.Start("FastCgi application", new Worker(this, scheduler));
        }
        catch (Exception exception)
        {
            // The other threads do the waiting work, and the watchdog tries again.
            int count;
            using (_lock.Acquire())
            {
                _startingCount--;
                count = --_count;
            }

            scheduler.Watchdog.OnActivity();
            WarnOfScarceThreads(count, exception);
        }
    }

    private void WarnOfScarceThreads(int count, Exception? exception)
    {
        if (_scarceThreads.TryAcquire(out _))
            ThreadRoot.Report(log, log => log.ThreadsOutOfResources(count, exception));
    }

    /// <summary>Ends idle threads, and the others when they become idle. It may be called more than once.</summary>
    public void Stop()
    {
        List<Worker> idle;
        using (_lock.Acquire())
        {
            _isStopping = true;
            idle = [.. _idle];
        }

        foreach (var worker in idle)
            worker.Wake();
    }

    public void OnStarted()
    {
        using (_lock.Acquire())
            _startingCount--;
    }

    /// <summary>Releases the seat before a request that was not expected to sleep when it was queued.</summary>
    public void LeaveSeat(Worker worker)
    {
        Worker? woken;
        using (_lock.Acquire())
        {
            if (worker.Permit != Permit.Seat || !HasRoom(Permit.Thread))
                return;

            Take(worker, Permit.Thread);
            woken = RemoveIdleForWork();
        }

        Wake(woken);
    }

    private bool HasRoom(Permit permit, int processors = 0) => permit switch
    {
        Permit.Server => Volatile.Read(ref _held[(int)Permit.Server]) < ServerThreads - 1,
        Permit.Loop => HasRoom(Permit.Seat, processors) || _isLoopOverdue,
        Permit.Seat => _held[(int)Permit.Seat] + processors < seats,
        Permit.Thread => ThreadRoom > 0 && !First.IsRunning,
        _ => true,
    };

    /// <summary>The number of further requests that sleep which may run now.</summary>
    public int ThreadRoom => Math.Min(maxBlocked - LongCount, _sleepers.Room);

    private bool TryAssign(Worker worker)
    {
        for (var permit = Permit.None; permit <= Permit.Thread; permit++)
        {
            if (HasRoom(permit) && _waiting[(int)permit].TryDequeue(out var item))
            {
                Assign(worker, item, permit);
                _wasLoopWaiting &= permit != Permit.Loop;
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether another thread can do work now for which no woken thread is available.</summary>
    /// <param name="requests">The number of requests that the caller will take.</param>
    /// <param name="processors">The number of processors that the caller uses without a seat.</param>
    private bool HasUnclaimedWork(int requests = 0, int processors = 0)
    {
        var computing = Math.Min(
            _waiting[(int)Permit.Seat].Count - requests, seats - _held[(int)Permit.Seat] - processors);
        var rest = _waiting[(int)Permit.None].Count + Math.Max(0, computing);
        if (HasRoom(Permit.Server))
            rest += ServerWaitingCount;
        if (HasRoom(Permit.Loop, processors))
            rest += _waiting[(int)Permit.Loop].Count;
        if (HasRoom(Permit.Thread))
            rest += Math.Min(WaitingCount, ThreadRoom);
        return rest > _wakingCount;
    }

    private Worker? RemoveIdleForWork() => HasUnclaimedWork() ? RemoveIdle() : null;

    private void LeaveLoop(Worker worker, bool isSeatFree)
    {
        QueueLoopOf(worker);
        if (isSeatFree && _waiting[(int)Permit.Seat].TryDequeue(out var item))
            Assign(worker, item, Permit.Seat);
        else
            Take(worker, Permit.None);
        _isLoopOverdue |= HasRoom(Permit.Loop);
    }

    private void QueueLoopOf(Worker worker)
    {
        _waiting[(int)Permit.Loop].Enqueue(new WorkItem(Loop: worker.Loop));
        worker.Loop = null;
    }

    private void Assign(Worker worker, WorkItem item, Permit permit)
    {
        worker.Loop = item.Loop;
        worker.Next = item;
        Take(worker, permit);
    }

    private void Take(Worker worker, Permit permit)
    {
        CountPermit(worker, worker.Permit, permit);
        worker.Permit = permit;
    }

    private void CountPermit(Worker worker, Permit before, Permit permit)
    {
        _held[(int)before]--;
        _held[(int)permit]++;
        if (before == Permit.Thread)
            _sleepers.End(worker.SleepPeriod);
        if (permit == Permit.Thread)
            worker.SleepPeriod = _sleepers.Begin();

        if (permit is Permit.Loop or Permit.Seat)
            _watched.Add(worker);
        else
            _watched.Remove(worker);
        Invariants.Require(before == Permit.None || _held[(int)before] >= 0, "More was released than taken.");
    }

    /// <summary>Counts a thread that the caller must start, if one is wanted and the limits permit it.</summary>
    private bool TryCountStart()
    {
        var wanted = Math.Min(WaitingCount, ThreadRoom) + _waiting[(int)Permit.Loop].Count
            + Math.Min(_waiting[(int)Permit.Seat].Count, seats - _held[(int)Permit.Seat]);
        // A handler on each loop may block beyond the limit.
        var max = maxBlocked + (2L * loopCount) + seats + ServerThreads;
        if (_startingCount >= Math.Clamp(wanted, 1, MaxStartsAtOnce) || (_count >= max && !_isUnbounded))
            return false;

        _startingCount++;
        _count++;
        return true;
    }

    /// <summary>Removes the thread that became idle last, because its stack and caches are warm.</summary>
    private Worker? RemoveIdle()
    {
        if (_idle.Count == 0)
            return null;

        var worker = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        worker.IsWaking = true;
        _wakingCount++;
        return worker;
    }

    private void Wake(Worker? worker)
    {
        if (worker is not null)
            worker.Wake();
        else
            EnsureSpare();
    }
}
