namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>An actor on a machine whose schedule is chosen: a thread, or an external event.</summary>
internal sealed class VirtualThread(string name, Func<bool> canStep, Action step)
{
    public string Name => name;

    /// <summary>Its position in the usual order; the lowest runs first.</summary>
    public int Rank { get; init; }

    /// <summary>Whether it can run but usually runs after the watchdog's next sample.</summary>
    public Func<bool>? IsLate { get; init; }

    /// <summary>Whether it is suspended in the middle of a step and keeps its stack.</summary>
    public bool IsSuspended { get; set; }

    /// <summary>
    /// Whether what it waits for has happened; <see langword="null"/> if it waits only for a processor.
    /// </summary>
    public Func<bool>? Condition { get; set; }

    /// <summary>It gets no processor before this sample, unless a choice gives it one.</summary>
    public int DelayedUntil { get; set; }

    /// <summary>Lets the real thread that has its stack continue.</summary>
    public SemaphoreSlim Baton { get; } = new(0);

    public bool CanStep => IsSuspended ? Condition?.Invoke() ?? true : canStep();

    /// <summary>Whether it uses a processor while it is suspended.</summary>
    public bool IsComputing { get; set; }

    /// <summary>Whether the system would report it as sleeping.</summary>
    public bool IsSleeping => IsSuspended && Condition is not null && !IsComputing;

    public void Step() => step();
}

/// <summary>
/// Runs virtual threads, one at a time; which one continues is a choice. A step runs on the real thread that has the
/// baton. A step that is interrupted keeps its real thread, and another thread takes the baton.
/// </summary>
internal sealed class VirtualMachine(Choices choices)
{
    // A run with more steps never ends.
    private const int MaxSteps = 5_000;

    private readonly List<VirtualThread> _threads = [];
    private readonly List<VirtualThread> _runnable = [];
    private Exception? _failure;
    private int _steps;

    public VirtualThread? Current { get; private set; }

    /// <summary>The number of watchdog samples so far. This is the time.</summary>
    public int Looks { get; set; }

    /// <summary>The number of samples since anything but time advanced.</summary>
    public int QuietLooks { get; private set; }

    /// <summary>
    /// The steps so far, for the report of a failure; <see langword="null"/> if they are not recorded.
    /// </summary>
    public List<string>? Trace { get; init; }

    /// <summary>The context to which the threads' continuations are posted.</summary>
    public SynchronizationContext? Context { get; init; }

    /// <summary>Called when only time can advance.</summary>
    public Action? OnQuiet { get; set; }

    private SemaphoreSlim IsOver { get; } = new(0);

    public void Add(VirtualThread thread) => _threads.Add(thread);

    /// <summary>Runs until nothing can continue.</summary>
    public void Run()
    {
        RealThreads.Run(Loop);
        if (!IsOver.Wait(TimeSpan.FromSeconds(20)))
            throw new TimeoutException($"A real thread is blocked. {Describe()}");
        if (_failure is not null)
            throw new InvalidOperationException($"{_failure.Message} {Describe()}", _failure);
    }

    /// <summary>A point in the middle of a step at which another thread may run first.</summary>
    public void Point(string name)
    {
        if (Current is not { } thread)
            return;

        switch (choices.Deviate(3))
        {
            case 1:
                Suspend(thread, name, condition: null, delay: 0);
                break;
            case 2:
                Suspend(thread, name, condition: null, delay: 6);
                break;
        }
    }

    /// <summary>Keeps a processor busy until a later sample.</summary>
    public void Compute(int looks)
    {
        var thread = Current ?? throw new InvalidOperationException("Nobody runs.");
        var until = Looks + looks;
        thread.IsComputing = true;
        Block(() => Looks >= until);
        thread.IsComputing = false;
    }

    /// <summary>Blocks the thread that has the baton.</summary>
    public void Block(Func<bool> condition)
        => Suspend(Current ?? throw new InvalidOperationException("Nobody runs."), "blocks", condition, delay: 0);

    public void Fail(Exception exception) => _failure ??= exception;

    private void Suspend(VirtualThread thread, string where, Func<bool>? condition, int delay)
    {
        Trace?.Add($"{thread.Name} stops: {where}");
        thread.IsSuspended = true;
        thread.Condition = condition;
        thread.DelayedUntil = Looks + delay;
        Current = null;
        RealThreads.Run(Loop);
        thread.Baton.Wait();
        thread.IsSuspended = false;
        thread.Condition = null;
        Current = thread;
        Trace?.Add($"{thread.Name} goes on: {where}");
    }

    private void Loop()
    {
        SynchronizationContext.SetSynchronizationContext(Context);
        try
        {
            while (_failure is null && Choose() is { } next)
            {
                if (next.IsSuspended)
                {
                    // Its own real thread continues, and so does its loop.
                    next.Baton.Release();
                    return;
                }

                Current = next;
                Trace?.Add($"{next.Name} begins");
                next.Step();
                Current = null;
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }

        IsOver.Release();
    }

    private VirtualThread? Choose()
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
        return chosen;
    }

    private int GetRank(VirtualThread thread)
    {
        if (!thread.IsSuspended)
            return thread.IsLate?.Invoke() ?? false ? VirtualWorld.WatchdogRank + 1 : thread.Rank;

        // An interrupted thread runs after those that are ready and, after a long interruption, after several samples.
        return thread.DelayedUntil > Looks ? VirtualWorld.WatchdogRank + 1 : VirtualWorld.InterruptedRank;
    }

    private string Describe() => Trace is null ? "" : string.Join(Environment.NewLine, Trace);
}

/// <summary>Real threads, reused for one step after another.</summary>
internal static class RealThreads
{
    private static readonly Stack<RealThread> s_idle = new();

    public static void Run(Action action)
    {
        RealThread? thread;
        lock (s_idle)
            s_idle.TryPop(out thread);
        (thread ?? new RealThread()).Run(action);
    }

    private sealed class RealThread
    {
        private Action? _action;

        private SemaphoreSlim Work { get; } = new(0);

        public RealThread() => new Thread(Main) { IsBackground = true, Name = "virtual" }.Start();

        public void Run(Action action)
        {
            _action = action;
            Work.Release();
        }

        private void Main()
        {
            while (true)
            {
                Work.Wait();
                _action!();
                lock (s_idle)
                    s_idle.Push(this);
            }
        }
    }
}
