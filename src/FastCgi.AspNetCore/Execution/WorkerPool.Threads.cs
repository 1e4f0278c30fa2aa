namespace FastCgi.AspNetCore.Execution;

/// <content>The threads: what they hold, and how they start and end.</content>
internal sealed partial class WorkerPool
{
    /// <summary>Starts a thread if none is spare and too few are starting.</summary>
    public void EnsureSpare()
    {
        lock (_lock)
        {
            if (_idle.Count > 0 || _isStopping || !TryCountStart())
                return;
        }

        try
        {
            platform.Start("FastCgi application", new Worker(this, scheduler, time));
        }
        catch (Exception exception)
        {
            // What waits is left to the other threads. The watchdog tries again.
            int count;
            lock (_lock)
            {
                _startingCount--;
                count = --_count;
            }

            if (_scarceThreads.TryAcquire(out _))
                ThreadRoot.Report(log, log => log.ThreadsOutOfResources(count, exception));
        }
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

    private void Assign(Worker worker, RunQueue loop)
    {
        worker.Loop = loop;
        Take(worker, Hold.Loop);
    }

    private void Assign(Worker worker, WorkItem item, Hold hold)
    {
        worker.Next = item;
        Take(worker, hold);
    }

    private void Take(Worker worker, Hold hold)
    {
        worker.Hold = hold;
        CountHold(hold, 1);
        Watch(worker, hold);
    }

    private void Release(Worker worker)
    {
        CountHold(worker.Hold, -1);
        worker.Hold = Hold.Nothing;
        Watch(worker, Hold.Nothing);
    }

    private void CountHold(Hold hold, int change)
    {
        if (hold == Hold.Seat)
            _seatCount += change;
        else if (hold == Hold.Thread)
            _blockedCount += change;
        if (Invariants.AreChecked)
            Invariants.Require(_seatCount >= 0 && _blockedCount >= 0, "More seats or threads were released than taken.");
    }

    private void Watch(Worker worker, Hold hold)
    {
        var isWatched = hold is Hold.Loop or Hold.Seat;
        if (isWatched == worker.WatchedIndex >= 0)
            return;

        if (isWatched)
        {
            worker.WatchedIndex = _watched.Count;
            _watched.Add(worker);
            return;
        }

        var last = _watched[^1];
        _watched[worker.WatchedIndex] = last;
        last.WatchedIndex = worker.WatchedIndex;
        _watched.RemoveAt(_watched.Count - 1);
        worker.WatchedIndex = -1;
    }

    private bool TryRetire()
    {
        if (_isStopping || _idle.Count > 0)
        {
            _count--;
            return true;
        }

        return false;
    }

    /// <summary>Counts a thread that the caller must start, if one is wanted and the limits permit it.</summary>
    private bool TryCountStart()
    {
        var wanted = Math.Min(_blocking.Count, maxBlocked - _blockedCount) + _loops.Count + Math.Min(_computing.Count, seats - _seatCount);
        var max = (long)maxBlocked + loopCount + seats + ServerThreads;
        if (_startingCount >= Math.Clamp(wanted, 1, MaxStartsAtOnce) || (_count >= max && !_isUnbounded))
            return false;

        _startingCount++;
        _count++;
        return true;
    }

    /// <summary>Takes the thread that became idle last, because its stack and caches are warm.</summary>
    private Worker? RemoveIdle()
    {
        if (_idle.Count == 0)
            return null;

        var worker = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        return worker;
    }

    /// <summary>Wakes a thread, or starts one if none was idle.</summary>
    private void Wake(Worker? worker)
    {
        if (worker is not null)
            worker.Wake();
        else
            EnsureSpare();
    }
}
