namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A second thread, which begins an action at the same moment as the test.</summary>
internal sealed class TwoThreads : IDisposable
{
    private readonly Barrier _barrier = new(2);
    private readonly Thread _other;
    private Action? _action;

    public TwoThreads()
    {
        _other = new Thread(RunOther) { IsBackground = true };
        _other.Start();
    }

    public void Run(Action here, Action there)
    {
        _action = there;
        _barrier.SignalAndWait();
        here();
        _barrier.SignalAndWait();
    }

    public void Dispose()
    {
        _action = null;
        _barrier.SignalAndWait();
        _other.Join();
        _barrier.Dispose();
    }

    private void RunOther()
    {
        while (true)
        {
            _barrier.SignalAndWait();
            if (_action is not { } action)
                return;

            action();
            _barrier.SignalAndWait();
        }
    }
}
