namespace FastCgi.AspNetCore.InMemoryTests.Simulation;

internal sealed class SimulatedThread(SimulatedMachine machine, Action start) : MachineThread(start)
{
    private long _processorTime;
    private long _runningSince = -1;
    private long _runnableSince;

    /// <summary>What the thread waits for; <see langword="null"/> if that is not a wake-up.</summary>
    public Func<bool>? IsWoken { get; set; }

    public bool IsSleeping { get; set; }

    /// <summary>How long the thread has waited for a processor, in microseconds.</summary>
    public long Delayed { get; private set; }

    /// <summary>How long the thread has had a processor, in microseconds.</summary>
    public long ProcessorTime => _processorTime + (_runningSince < 0 ? 0 : machine.Now - _runningSince);

    public void OnProcessorChanged(bool hasProcessor)
    {
        _processorTime = ProcessorTime;
        _runningSince = hasProcessor ? machine.Now : -1;
        if (hasProcessor && _runnableSince > 0)
            Delayed += machine.Now - _runnableSince;
        _runnableSince = 0;
    }

    public void OnRunnable() => _runnableSince = machine.Now;
}

/// <summary>
/// A machine with any number of processors and a virtual clock in microseconds. Only computing, blocking and wake-ups
/// take time; other code takes none.
/// </summary>
internal sealed class SimulatedMachine : SteppedMachine<SimulatedThread>
{
    public const long WakeUp = 5;
    public const long ThreadStart = 50;

    // As with the system's scheduler, a thread that computes for longer lets the others have a turn.
    private const long Slice = 1_000;

    private readonly PriorityQueue<Action, (long Time, long Order)> _events = new();
    private readonly Queue<SimulatedThread> _runnable = new();
    private readonly Queue<SimulatedThread> _running = new();
    private readonly List<SimulatedThread> _parked = [];
    private int _busy;
    private long _order;

    public SimulatedMachine(int processors)
    {
        Count = processors;
        Context = new PostedWork(this);
    }

    public long Now { get; private set; }

    public int Count { get; }

    public int Idle => Count - _busy;

    /// <summary>Called before time passes, with how much.</summary>
    public Action<long> OnTimePasses { get; set; } = static _ => { };

    public void After(long time, Action action) => _events.Enqueue(action, (Now + time, _order++));

    /// <summary>Starts a thread that soon has a processor.</summary>
    public void Start(Action action, long delay = ThreadStart)
    {
        SimulatedThread? thread = null;
        thread = new SimulatedThread(this, () =>
        {
            action();
            Release(thread!);
        });
        After(delay, () => Request(thread));
    }

    /// <summary>Occupies the processor.</summary>
    public void Compute(long time)
    {
        var thread = Current!;
        while (time > 0)
        {
            var slice = Math.Min(time, Slice);
            time -= slice;
            After(slice, () => _running.Enqueue(thread));
            Suspend();
            if (time > 0 && _runnable.Count > 0)
            {
                Release(thread);
                Request(thread);
                Suspend();
            }
        }
    }

    /// <summary>Occupies a processor as long as a condition holds, but lets others have a turn.</summary>
    public void ComputeWhile(Func<bool> condition)
    {
        while (condition())
            Compute(2 * Slice);
    }

    /// <summary>Blocks the thread, which leaves its processor to others.</summary>
    public void Sleep(long time)
    {
        var thread = Current!;
        thread.IsSleeping = true;
        Release(thread);
        After(time + WakeUp, () => Request(thread));
        Suspend();
    }

    /// <summary>Blocks the thread until it is woken.</summary>
    public void Park(Func<bool> isWoken)
    {
        var thread = Current!;
        thread.IsSleeping = true;
        thread.IsWoken = isWoken;
        _parked.Add(thread);
        Release(thread);
        Suspend();
    }

    protected override SimulatedThread? Choose()
    {
        while (true)
        {
            WakeParked();
            if (_running.TryDequeue(out var next))
                return next;
            if (!_events.TryDequeue(out var action, out var key))
                return _parked.Count == 0
                    ? null
                    : throw new InvalidOperationException($"{_parked.Count} threads are never woken.");

            if (key.Time > Now)
                OnTimePasses(key.Time - Now);
            Now = key.Time;
            action();
        }
    }

    protected override string Describe() => $"It is {Now} µs.";

    private void WakeParked()
    {
        for (var i = _parked.Count - 1; i >= 0; i--)
        {
            if (_parked[i] is not { IsWoken: { } isWoken } thread || !isWoken())
                continue;

            _parked.RemoveAt(i);
            After(WakeUp, () => Request(thread));
        }
    }

    private void Request(SimulatedThread thread)
    {
        thread.IsSleeping = false;
        if (Idle == 0)
        {
            thread.OnRunnable();
            _runnable.Enqueue(thread);
            return;
        }

        _busy++;
        thread.OnProcessorChanged(true);
        _running.Enqueue(thread);
    }

    private void Release(SimulatedThread thread)
    {
        thread.OnProcessorChanged(false);
        _busy--;
        if (_runnable.TryDequeue(out var next))
            Request(next);
    }

    /// <summary>The thread pool runs continuations.</summary>
    private sealed class PostedWork(SimulatedMachine machine) : SynchronizationContext
    {
        public override void Post(SendOrPostCallback d, object? state) => machine.Start(() => d(state), WakeUp);
    }
}

/// <summary>The threads of a scheduler on a simulated machine.</summary>
internal sealed class SimulatedPlatform(SimulatedMachine machine, int processors) : ThreadPlatform(NullLogger.Instance)
{
    public override int ProcessorCount => processors;

    public override void Start(string name, ThreadBody body)
    {
        // It needs little of a processor and waits for none: the system prefers threads that sleep most of the time.
        if (body is StallWatchdog)
            StepWatchdog(body);
        else
            machine.Start(() => Run(body));
    }

    public override ThreadProbe ProbeThisThread()
    {
        var thread = machine.Current!;
        return new ThreadProbe(() => thread.ProcessorTime * 1_000, () => thread.IsSleeping);
    }

    public override ThreadUsage? GetUsageOfThisThread()
        => new ThreadUsage(machine.Current!.ProcessorTime, machine.Current.Delayed);

    public override void SetBarrierForAllThreads()
    {
    }

    private void Run(ThreadBody body)
    {
        while (body.Step() is { } wait)
        {
            if (wait == TimeSpan.Zero)
                continue;

            machine.Park(() => body.IsWoken);
            body.TakeWake();
        }
    }

    private void StepWatchdog(ThreadBody body)
    {
        if (body.Step() is { } wait)
            machine.After(wait > TimeSpan.Zero ? (long)wait.TotalMicroseconds : 1_000, () => StepWatchdog(body));
    }
}
