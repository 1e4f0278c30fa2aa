namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>An actor on a machine: a thread, or an external event.</summary>
internal abstract class MachineThread(Action step)
{
    /// <summary>Whether it is suspended in the middle of a step and keeps its stack.</summary>
    public bool IsSuspended { get; set; }

    /// <summary>Lets the real thread that has its stack continue.</summary>
    public SemaphoreSlim Baton { get; } = new(0);

    public void Step() => step();
}

/// <summary>
/// Runs threads, one at a time, so that a run can be repeated; which one continues is decided by the machine. A step
/// runs on the real thread that has the baton. A step that is suspended keeps its real thread, and another one takes
/// the baton.
/// </summary>
internal abstract class SteppedMachine<TThread>
    where TThread : MachineThread
{
    private TaskCompletionSource _isOver = new();
    private Exception? _failure;

    /// <summary>The thread whose code runs; <see langword="null"/> while the machine chooses one.</summary>
    public TThread? Current { get; private set; }

    /// <summary>The context to which the threads' continuations are posted.</summary>
    public SynchronizationContext? Context { get; init; }

    /// <summary>Runs until nothing can continue.</summary>
    public void Run()
    {
        _isOver = new TaskCompletionSource();
        RealThreads.Run(() => Loop(Next()));
        if (!_isOver.Task.Wait(TimeSpan.FromMinutes(2)))
            throw new TimeoutException($"A real thread is blocked. {Describe()}");
        if (_failure is not null)
            throw new InvalidOperationException($"{_failure.Message} {Describe()}", _failure);
    }

    /// <summary>Chooses the thread that continues.</summary>
    /// <returns><see langword="null"/> if nothing can continue.</returns>
    protected abstract TThread? Choose();

    /// <summary>Describes the run so far, for the report of a failure.</summary>
    protected abstract string Describe();

    /// <summary>Suspends the current thread until it is chosen.</summary>
    protected void Suspend()
    {
        var thread = Current ?? throw new InvalidOperationException("Nobody runs.");
        thread.IsSuspended = true;
        Current = null;
        var next = Next();
        if (next != thread)
        {
            if (next is { IsSuspended: true })
                next.Baton.Release();
            else
                RealThreads.Run(() => Loop(next));
            thread.Baton.Wait();
        }

        thread.IsSuspended = false;
        Current = thread;
    }

    private void Loop(TThread? next)
    {
        SynchronizationContext.SetSynchronizationContext(Context);
        for (; next is not null; next = Next())
        {
            if (next.IsSuspended)
            {
                // Its own real thread continues.
                next.Baton.Release();
                return;
            }

            Current = next;
            Guard(next.Step);
            Current = null;
        }

        _isOver.SetResult();
    }

    private TThread? Next()
    {
        TThread? next = null;
        if (_failure is null)
            Guard(() => next = Choose());
        return _failure is null ? next : null;
    }

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
}

/// <summary>The time of a machine.</summary>
internal sealed class MachineTime(Func<long> getMicroseconds) : TimeProvider
{
    public override long TimestampFrequency => 1_000_000;

    public override long GetTimestamp() => getMicroseconds();
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
