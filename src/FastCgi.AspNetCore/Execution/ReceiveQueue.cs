namespace FastCgi.AspNetCore.Execution;

/// <summary>The queue of one receive, of engines whose threads do not go on for ever. Behind the batch it goes back to its pool.</summary>
internal sealed class ReceiveQueue(ReceiveQueuePool pool, RequestScheduler scheduler) : RunQueue, IThreadPoolWorkItem
{
    /// <inheritdoc/>
    public override bool IsEndless => false;

    /// <summary>The next free queue.</summary>
    public ReceiveQueue? NextFree { get; set; }

    /// <inheritdoc/>
    public override bool Continue()
    {
        pool.Return(this);
        return true;
    }

    /// <inheritdoc/>
    void IThreadPoolWorkItem.Execute() => scheduler.ContinueOnThreadPool(this);
}

/// <summary>The queues of receives, used again and again. Each processor has one at hand.</summary>
internal sealed class ReceiveQueuePool
{
    private readonly RequestScheduler _scheduler;
    private readonly StallWatchdog _watchdog;
    private readonly Lock _lock = new();
    private readonly ReceiveQueue?[] _atHand = new ReceiveQueue?[Math.Min(Environment.ProcessorCount, 64)];
    private ReceiveQueue? _firstFree;

    public ReceiveQueuePool(RequestScheduler scheduler, StallWatchdog watchdog)
    {
        _scheduler = scheduler;
        _watchdog = watchdog;
    }

    /// <summary>Takes a queue.</summary>
    public ReceiveQueue Rent()
    {
        if (Interlocked.Exchange(ref AtHand, null) is { } queue)
            return queue;

        lock (_lock)
        {
            if (_firstFree is { } free)
            {
                _firstFree = free.NextFree;
                free.NextFree = null;
                return free;
            }
        }

        queue = new ReceiveQueue(this, _scheduler);
        _watchdog.Add(queue);
        return queue;
    }

    /// <summary>Puts a queue back.</summary>
    public void Return(ReceiveQueue queue)
    {
        queue.Probe = null;
        if (Interlocked.CompareExchange(ref AtHand, queue, null) is null)
            return;

        lock (_lock)
        {
            queue.NextFree = _firstFree;
            _firstFree = queue;
        }
    }

    private ref ReceiveQueue? AtHand => ref _atHand[Thread.GetCurrentProcessorId() % _atHand.Length];
}
