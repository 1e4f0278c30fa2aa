namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Runs the requests that one receive made ready on the receiving thread, as a loop does.</summary>
internal static class InlineScheduling
{
    private static readonly ConditionalWeakTable<RequestScheduler, ConcurrentBag<Worker>> s_workers = [];

    public static void Run(this RequestScheduler scheduler, ref ReadyRequests ready, RecordOutput output)
    {
        if (!ready.HasWork)
        {
            output.FlushNow();
            return;
        }

        var loop = new RunQueue(static _ => BatchResult.Ended);
        loop.Begin(ref ready, output);
        var workers = s_workers.GetOrCreateValue(scheduler);
        if (!workers.TryTake(out var worker))
            worker = CreateWorker(scheduler);
        scheduler.Lend(worker, loop);
        if (scheduler.RunBatch(worker, loop) && scheduler.Workers.TryLeaveLoop(worker) && worker.Next is { } next)
            scheduler.Run(worker, next);
        scheduler.GiveBack(worker);
        workers.Add(worker);
    }

    /// <summary>A worker that is the calling thread.</summary>
    public static Worker CreateWorker(this RequestScheduler scheduler)
        => new(scheduler.Workers, scheduler);

    /// <summary>Gives a loop its first thread.</summary>
    public static void Run(this WorkerPool pool, RunQueue loop) => pool.Run(new WorkItem(Loop: loop), Permit.Loop);

    /// <summary>Makes a worker the owner of a loop.</summary>
    public static void Lend(this RequestScheduler scheduler, Worker worker, RunQueue loop)
    {
        lock (LockOf(scheduler.Workers))
            Assign(scheduler.Workers, worker, new WorkItem(Loop: loop), Permit.Loop);
        worker.Next = null;
    }

    /// <summary>Makes a worker that holds a seat or thread.</summary>
    public static Worker Occupy(this RequestScheduler scheduler, Permit permit)
    {
        var worker = CreateWorker(scheduler);
        lock (LockOf(scheduler.Workers))
            Take(scheduler.Workers, worker, permit);
        return worker;
    }

    /// <summary>Releases what a worker still holds.</summary>
    public static void GiveBack(this RequestScheduler scheduler, Worker worker)
    {
        lock (LockOf(scheduler.Workers))
            Take(scheduler.Workers, worker, Permit.None);
        worker.Loop = null;
        worker.Next = null;
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lock")]
    private static extern ref Lock LockOf(WorkerPool pool);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Assign")]
    private static extern void Assign(WorkerPool pool, Worker worker, WorkItem item, Permit permit);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Take")]
    private static extern void Take(WorkerPool pool, Worker worker, Permit permit);
}
