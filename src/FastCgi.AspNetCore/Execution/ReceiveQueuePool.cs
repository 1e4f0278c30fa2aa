namespace FastCgi.AspNetCore.Execution;

/// <summary>The queues of engines without loops: each serves one receive, and is used again. Each processor has one at hand.</summary>
internal sealed class ReceiveQueuePool(StallWatchdog watchdog) : IBatchSource
{
    private readonly Lock _lock = new();
    private readonly RunQueue?[] _atHand = new RunQueue?[Math.Min(Environment.ProcessorCount, 64)];
    private RunQueue? _firstFree;

    /// <inheritdoc/>
    public bool IsEndless => false;

    private ref RunQueue? AtHand => ref _atHand[Thread.GetCurrentProcessorId() % _atHand.Length];

    /// <summary>Takes a queue.</summary>
    public RunQueue Rent()
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

        queue = new RunQueue(this);
        watchdog.Add(queue);
        return queue;
    }

    /// <inheritdoc/>
    public bool TryBeginNext(RunQueue queue)
    {
        queue.Probe = null;
        if (Interlocked.CompareExchange(ref AtHand, queue, null) is null)
            return false;

        lock (_lock)
        {
            queue.NextFree = _firstFree;
            _firstFree = queue;
        }

        return false;
    }
}
