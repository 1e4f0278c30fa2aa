namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>An actor on a machine whose schedule is chosen.</summary>
internal sealed class VirtualThread(string name, Func<bool> canStep, Action step) : MachineThread(step)
{
    public string Name => name;

    /// <summary>Its position in the usual order; the lowest runs first.</summary>
    public int Rank { get; init; }

    /// <summary>Whether it can run but usually runs after the watchdog's next sample.</summary>
    public Func<bool>? IsLate { get; init; }

    /// <summary>
    /// Whether what it waits for has happened; <see langword="null"/> if it waits only for a processor.
    /// </summary>
    public Func<bool>? Condition { get; set; }

    /// <summary>It gets no processor before this sample, unless a choice gives it one.</summary>
    public int DelayedUntil { get; set; }

    public bool CanStep => IsSuspended ? Condition?.Invoke() ?? true : canStep();

    /// <summary>Whether it uses a processor while it is suspended.</summary>
    public bool IsComputing { get; set; }

    /// <summary>Whether the system would report it as sleeping.</summary>
    public bool IsSleeping => IsSuspended && Condition is not null && !IsComputing;
}

/// <summary>A machine on which the thread that continues is a choice. The watchdog's samples are the time.</summary>
internal sealed class VirtualMachine(Choices choices) : SteppedMachine<VirtualThread>
{
    // A run with more steps never ends.
    private const int MaxSteps = 5_000;

    private readonly List<VirtualThread> _threads = [];
    private readonly List<VirtualThread> _runnable = [];
    private int _steps;

    /// <summary>The number of watchdog samples so far. This is the time.</summary>
    public int Looks { get; set; }

    /// <summary>The number of samples since anything but time advanced.</summary>
    public int QuietLooks { get; private set; }

    /// <summary>
    /// The steps so far, for the report of a failure; <see langword="null"/> if they are not recorded.
    /// </summary>
    public List<string>? Trace { get; init; }

    /// <summary>Called when only time can advance.</summary>
    public Action? OnQuiet { get; set; }

    public void Add(VirtualThread thread) => _threads.Add(thread);

    /// <summary>A point in the middle of a step at which another thread may run first.</summary>
    public void Point(string name)
    {
        if (Current is null)
            return;

        switch (choices.Deviate(3))
        {
            case 1:
                Suspend(name, condition: null, delay: 0);
                break;
            case 2:
                Suspend(name, condition: null, delay: 6);
                break;
        }
    }

    /// <summary>Keeps a processor busy until a later sample.</summary>
    public void Compute(int looks)
    {
        var thread = Current!;
        var until = Looks + looks;
        thread.IsComputing = true;
        Block(() => Looks >= until);
        thread.IsComputing = false;
    }

    /// <summary>Blocks the thread that runs.</summary>
    public void Block(Func<bool> condition) => Suspend("blocks", condition, delay: 0);

    protected override string Describe() => Trace is null ? "" : string.Join(Environment.NewLine, Trace);

    protected override VirtualThread? Choose()
    {
        if (++_steps > MaxSteps)
            throw new InvalidOperationException("The run does not end.");

        _runnable.Clear();
        foreach (var thread in _threads)
        {
            if (thread.CanStep)
                _runnable.Add(thread);
        }

        if (_runnable.Count == 0)
            return null;

        _runnable.Sort((a, b) => GetRank(a).CompareTo(GetRank(b)));
        var isQuiet = GetRank(_runnable[0]) == VirtualWorld.WatchdogRank
            && !_threads.Exists(static thread => thread.IsSuspended && thread.Condition is null);
        if (isQuiet)
            OnQuiet?.Invoke();
        var chosen = _runnable[choices.Deviate(_runnable.Count)];
        QuietLooks = isQuiet && chosen == _runnable[0] ? QuietLooks + 1 : 0;
        if (!chosen.IsSuspended)
            Trace?.Add($"{chosen.Name} begins");
        return chosen;
    }

    private int GetRank(VirtualThread thread)
    {
        if (!thread.IsSuspended)
            return thread.IsLate?.Invoke() ?? false ? VirtualWorld.WatchdogRank + 1 : thread.Rank;

        // An interrupted thread runs after those that are ready and, after a long interruption, after several samples.
        return thread.DelayedUntil > Looks ? VirtualWorld.WatchdogRank + 1 : VirtualWorld.InterruptedRank;
    }

    private void Suspend(string where, Func<bool>? condition, int delay)
    {
        var thread = Current!;
        Trace?.Add($"{thread.Name} stops: {where}");
        thread.Condition = condition;
        thread.DelayedUntil = Looks + delay;
        Suspend();
        thread.Condition = null;
        Trace?.Add($"{thread.Name} continues: {where}");
    }
}
