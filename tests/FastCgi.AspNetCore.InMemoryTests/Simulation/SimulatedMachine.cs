using FastCgi.AspNetCore.InMemoryTests.Exploration;

namespace FastCgi.AspNetCore.InMemoryTests.Simulation;

/// <summary>A thread of the simulation. A real thread keeps its stack and runs when the machine lets it.</summary>
/// <param name="start">What the thread does.</param>
internal sealed class SimulatedThread(SimulatedMachine machine, Action<SimulatedThread> start)
{
    private readonly object _turn = new();
    private bool _mayContinue;
    private long _processorTime;
    private long _runningSince = -1;
    private bool _hasStarted;

    /// <summary>What the thread waits for; <see langword="null"/> if that is not a wake-up.</summary>
    public Func<bool>? IsWoken { get; set; }

    public bool IsSleeping { get; set; }

    public long Sleeps { get; set; }

    /// <summary>How long the thread has had a processor, in microseconds.</summary>
    public long ProcessorTime => _processorTime + (_runningSince < 0 ? 0 : machine.Now - _runningSince);

    /// <summary>Lets the real thread continue.</summary>
    public void Continue()
    {
        if (_hasStarted)
        {
            lock (_turn)
            {
                _mayContinue = true;
                Monitor.Pulse(_turn);
            }

            return;
        }

        // Before the other thread runs: it may stop, and be continued, before this one has another turn.
        _hasStarted = true;
        RealThreads.Run(() => start(this));
    }

    /// <summary>Stops the real thread, which must be the caller, until it may continue.</summary>
    public void Stop()
    {
        lock (_turn)
        {
            while (!_mayContinue)
                Monitor.Wait(_turn);
            _mayContinue = false;
        }
    }

    public void OnProcessorChanged(bool hasProcessor)
    {
        _processorTime = ProcessorTime;
        _runningSince = hasProcessor ? machine.Now : -1;
    }
}

/// <summary>
/// A machine with any number of processors and a virtual clock in microseconds. Only computing, blocking and wake-ups
/// take time. Other code takes none, and one real thread runs at a time, so all runs with the same seed are the same.
/// </summary>
internal sealed class SimulatedMachine(int processors) : SynchronizationContext
{
    public const long WakeUp = 5;
    public const long ThreadStart = 50;

    // As with the system's scheduler, a thread that computes for longer lets the others have a turn.
    private const long Slice = 1_000;

    private readonly PriorityQueue<Action, (long Time, long Order)> _events = new();
    private readonly Queue<SimulatedThread> _runnable = new();
    private readonly Queue<SimulatedThread> _running = new();
    private readonly List<SimulatedThread> _parked = [];
    private readonly TaskCompletionSource _isOver = Waiting.Signal();
    private Exception? _failure;
    private int _busy;
    private long _order;

    public long Now { get; private set; }

    public int Count => processors;

    public int Idle => processors - _busy;

    /// <summary>The thread whose code runs; <see langword="null"/> during an event.</summary>
    public SimulatedThread? CurrentThread { get; private set; }

    /// <summary>Called before time passes, with how much.</summary>
    public Action<long> OnTimePasses { get; set; } = static _ => { };

    public void After(long time, Action action) => _events.Enqueue(action, (Now + time, _order++));

    /// <summary>Runs until nothing is left to do.</summary>
    public void Run()
    {
        RealThreads.Run(() => Continue(null));
        if (!_isOver.Task.Wait(TimeSpan.FromMinutes(2)))
            throw new TimeoutException("A real thread is blocked.");
        if (_failure is not null)
            throw new InvalidOperationException($"At {Now} µs: {_failure.Message}", _failure);
    }

    /// <summary>Starts a thread that soon has a processor.</summary>
    public void Start(Action action, long delay = ThreadStart)
    {
        var thread = new SimulatedThread(this, thread =>
        {
            SetSynchronizationContext(this);
            Guard(action);
            Release(thread);
            Continue(null);
        });
        After(delay, () => Request(thread));
    }

    /// <summary>Occupies the processor.</summary>
    public void Compute(long time)
    {
        var thread = CurrentThread!;
        while (time > 0)
        {
            var slice = Math.Min(time, Slice);
            time -= slice;
            After(slice, () => _running.Enqueue(thread));
            Continue(thread);
            if (time > 0 && _runnable.Count > 0)
            {
                Release(thread);
                Request(thread);
                Continue(thread);
            }
        }
    }

    /// <summary>Blocks the thread, which leaves its processor to others.</summary>
    public void Sleep(long time)
    {
        var thread = CurrentThread!;
        thread.IsSleeping = true;
        thread.Sleeps++;
        Release(thread);
        After(time + WakeUp, () => Request(thread));
        Continue(thread);
    }

    /// <summary>Blocks the thread until it is woken.</summary>
    public void Park(Func<bool> isWoken)
    {
        var thread = CurrentThread!;
        thread.IsSleeping = true;
        thread.IsWoken = isWoken;
        _parked.Add(thread);
        Release(thread);
        Continue(thread);
    }

    /// <summary>The thread pool runs it.</summary>
    public override void Post(SendOrPostCallback d, object? state) => Start(() => d(state), WakeUp);

    private void Guard(Action action)
    {
        try
        {
            action();
        }
        catch (Exception exception)
        {
            _failure ??= exception;
        }
    }

    private void Request(SimulatedThread thread)
    {
        thread.IsSleeping = false;
        if (Idle == 0)
        {
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

    /// <summary>Runs the machine on the real thread that stops, until a thread continues.</summary>
    /// <param name="self">The thread that stops; <see langword="null"/> if it ends.</param>
    private void Continue(SimulatedThread? self)
    {
        CurrentThread = null;
        while (Next() is not { } next)
        {
            if (_failure is not null || !_events.TryDequeue(out var action, out var key))
            {
                if (_parked.Count > 0)
                    _failure ??= new InvalidOperationException($"{_parked.Count} threads are never woken.");
                _isOver.SetResult();
                self?.Stop();
                return;
            }

            if (key.Time > Now)
                Guard(() => OnTimePasses(key.Time - Now));
            Now = key.Time;
            Guard(action);
        }

        if (_running.TryDequeue(out var thread))
        {
            CurrentThread = thread;
            if (thread == self)
                return;

            thread.Continue();
        }

        self?.Stop();
    }

    private SimulatedThread? Next()
    {
        for (var i = _parked.Count - 1; i >= 0; i--)
        {
            if (_parked[i] is not { IsWoken: { } isWoken } thread || !isWoken())
                continue;

            _parked.RemoveAt(i);
            After(WakeUp, () => Request(thread));
        }

        return _running.TryPeek(out var next) ? next : null;
    }
}

/// <summary>The threads of a scheduler on a simulated machine.</summary>
internal sealed class SimulatedPlatform(SimulatedMachine machine, int processors) : ThreadPlatform(NullLogger.Instance)
{
    private readonly Dictionary<SimulatedThread, ThreadProbe> _probes = [];

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
        var thread = machine.CurrentThread!;
        return new ThreadProbe(() => thread.ProcessorTime * 1_000, () => thread.IsSleeping);
    }

    public override ThreadUsage GetUsageOfThisThread()
        => new(machine.CurrentThread!.ProcessorTime, machine.CurrentThread.Sleeps);

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
