namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

internal sealed class VirtualPlatform(VirtualMachine machine, int processors) : ThreadPlatform(NullLogger.Instance)
{
    private int _count;

    public override int ProcessorCount => processors;

    /// <summary>Whether the watchdog may take samples.</summary>
    public Func<bool> MayLook { get; init; } = static () => true;

    /// <summary>Whether the system can start a thread.</summary>
    public Func<bool> HasThreads { get; init; } = static () => true;

    public override void Start(string name, ThreadBody body)
    {
        machine.Point("start of a thread");
        if (!HasThreads())
            throw new OutOfMemoryException("No thread is left.");
        Add(name, body);
    }

    public override ThreadProbe ProbeThisThread() => CreateProbe(machine.Current);

    public override ThreadUsage? GetUsageOfThisThread() => default(ThreadUsage);

    private void Add(string name, ThreadBody body)
    {
        TimeSpan? wait = TimeSpan.Zero;
        var isWatchdog = name.Contains("watchdog");
        var hasPatience = true;
        machine.Add(new VirtualThread(
            isWatchdog ? "watchdog" : $"{name} {++_count}",
            () => wait is { } time && (body.IsWoken || time == TimeSpan.Zero || MayWaitInVain(time)),
            () =>
            {
                hasPatience &= body.IsWoken || wait == TimeSpan.Zero;
                body.TakeWake();
                if (isWatchdog)
                    machine.Looks++;
                wait = body.Step();
            })
        {
            Rank = isWatchdog ? VirtualWorld.WatchdogRank : VirtualWorld.WorkerRank,
            IsLate = () => !isWatchdog && wait > TimeSpan.Zero && !body.IsWoken,
        });

        // The idle time of each worker ends once, at any moment.
        bool MayWaitInVain(TimeSpan time) => isWatchdog ? time > TimeSpan.Zero && MayLook() : hasPatience;
    }

    private ThreadProbe CreateProbe(VirtualThread? thread) => new(
        // A millisecond between two samples.
        () => thread is { IsComputing: true } ? machine.Looks * 1_000_000L : 0,
        () =>
        {
            var isSleeping = thread is { IsSleeping: true };
            machine.Point("between sample and take");
            return isSleeping;
        });
}
