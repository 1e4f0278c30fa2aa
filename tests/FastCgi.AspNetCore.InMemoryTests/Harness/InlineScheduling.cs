namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Runs what one receive has made ready on the thread that received it, as a loop does.</summary>
internal static class InlineScheduling
{
    private static readonly ConditionalWeakTable<RequestScheduler, Queues> s_queues = [];

    public static void Run(this RequestScheduler scheduler, ref ReadyRequests ready, RecordOutput output)
    {
        if (!ready.HasWork)
        {
            output.FlushNow();
            return;
        }

        var queues = s_queues.GetOrCreateValue(scheduler);
        var queue = queues.Take(scheduler);
        queue.Begin(ref ready, output);
        if (!scheduler.Continue(queue))
            scheduler.Workers.Release();
    }

    private sealed class Queues
    {
        private readonly Lock _lock = new();
        private readonly Stack<RunQueue> _free = [];

        public RunQueue Take(RequestScheduler scheduler)
        {
            lock (_lock)
            {
                if (_free.TryPop(out var free))
                    return free;
            }

            RunQueue queue = null!;
            queue = new RunQueue(() => Return(queue));
            scheduler.Watchdog.Add(queue);
            return queue;
        }

        private bool Return(RunQueue queue)
        {
            lock (_lock)
                _free.Push(queue);
            return false;
        }
    }
}
