namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Waits of threads that the application may have interrupted, and that now do other work.</summary>
/// <remarks>Otherwise, a contended lock would throw, and a request or the owner of a loop would be lost.</remarks>
internal static class Uninterrupted
{
    public static Acquired Acquire(this Lock gate)
    {
        if (!gate.TryEnter())
            Do(gate, static gate => gate.Enter());
        return new Acquired(gate);
    }

    /// <summary>Repeats a wait until it is not interrupted. The interrupt stays pending for the application.</summary>
    public static void Do<TState>(TState state, Action<TState> wait)
    {
        var wasInterrupted = false;
        while (true)
        {
            try
            {
                wait(state);
                break;
            }
            catch (ThreadInterruptedException)
            {
                wasInterrupted = true;
            }
        }

        if (wasInterrupted)
            Thread.CurrentThread.Interrupt();
    }

    public readonly ref struct Acquired(Lock gate)
    {
        private readonly Lock _gate = gate;

        public void Dispose() => _gate.Exit();
    }
}
