namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

internal sealed class VirtualPlatform(VirtualMachine machine, int processors) : ThreadPlatform(NullLogger.Instance)
{
    private int _count;

    public override int ProcessorCount => processors;

    /// <summary>Whether the watchdog may take samples.</summary>
    public Func<bool> MayLook { get; init; } = static () => true;

    public override void Start(string name, ThreadBody body)
    {
        machine.Point("start of a thread");
        Add(name, body);
    }

    public override ThreadProbe ProbeThisThread() => CreateProbe(machine.Current);

    public override ThreadUsage GetUsageOfThisThread() => default;

    private void Add(string name, ThreadBody body)
    {
        TimeSpan? wait = TimeSpan.Zero;
        var isWatchdog = name.Contains("watchdog", StringComparison.Ordinal);
        machine.Add(new VirtualThread(
            isWatchdog ? "watchdog" : $"{name} {++_count}",
            // Long waits never end.
            () => wait is { } time && (body.IsWoken || time == TimeSpan.Zero || (isWatchdog && time > TimeSpan.Zero && MayLook())),
            () =>
            {
                body.TakeWake();
                if (isWatchdog)
                    machine.Looks++;
                wait = body.Step();
            })
        {
            Rank = isWatchdog ? VirtualWorld.WatchdogRank : VirtualWorld.WorkerRank,
        });
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
