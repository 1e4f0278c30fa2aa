using FastCgi.AspNetCore.Execution;

namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>Threads of the room as threads of a virtual machine.</summary>
internal sealed class VirtualPlatform(VirtualMachine machine) : ThreadPlatform
{
    private int _count;

    /// <summary>The threads of the room that have begun and not ended.</summary>
    public int ThreadCount { get; private set; }

    /// <summary>How many threads the system gives.</summary>
    public int MaxThreads { get; init; } = int.MaxValue;

    /// <summary>How many looks of the watchdog are left before it is only called when nothing else goes on.</summary>
    public int FreeLooks { get; set; } = int.MaxValue;

    /// <summary>Whether the watchdog may look at all.</summary>
    public Func<bool> MayLook { get; init; } = static () => true;

    public override void Start(string name, ThreadBody body)
    {
        machine.Point("start of a thread");
        if (ThreadCount == MaxThreads)
            throw new OutOfMemoryException("No thread is left.");

        Add(name, body);
    }

    public override void StartOnThreadPool(ThreadBody body) => Add("pool thread", body);

    public override ThreadProbe ProbeThisThread() => CreateProbe(machine.Current);

    public override ThreadUsage GetUsageOfThisThread() => default;

    private void Add(string name, ThreadBody body)
    {
        ThreadCount++;
        TimeSpan? wait = TimeSpan.Zero;
        var isWatchdog = name.Contains("watchdog", StringComparison.Ordinal);
        machine.Add(new VirtualThread(
            isWatchdog ? "watchdog" : $"{name} {++_count}",
            // Nobody has the patience for the end of long waits.
            () => wait is { } time && (body.IsWoken || time == TimeSpan.Zero || (isWatchdog && time > TimeSpan.Zero && MayLook())),
            () =>
            {
                body.TakeWake();
                if (isWatchdog)
                    machine.Looks++;
                wait = body.Step();
                if (wait is null)
                    ThreadCount--;
            })
        {
            Rank = isWatchdog ? VirtualWorld.WatchdogRank : VirtualWorld.WorkerRank,
        });
    }

    private ThreadProbe CreateProbe(VirtualThread? thread) => new(
        static () => 0,
        () =>
        {
            var isSleeping = thread is { IsSleeping: true };
            machine.Point("between look and take");
            return isSleeping;
        });
}
