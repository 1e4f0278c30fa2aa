namespace FastCgi.AspNetCore.Transport;

/// <summary>The loops of a server. Each receives from some of the connections, and starts their requests.</summary>
internal sealed class Engine(
    ConnectionManager manager, RequestScheduler scheduler, Func<ILogger, EventLoop> createLoop)
{
    private static readonly TimeSpan s_endTime = TimeSpan.FromSeconds(1);

    private bool _isStarted;

    public ConnectionManager Manager => manager;
    public IReadOnlyList<EventLoop> Loops { get; } = CreateLoops(manager.Server, createLoop);

    public EventLoop ChooseLoop() => Loops.MinBy(static loop => loop.SourceCount)!;

    public void Start()
    {
        _isStarted = true;
        foreach (var loop in Loops)
            scheduler.Workers.Run(new WorkItem(Loop: loop.Queue), Permit.Loop);
    }

    public void Stop()
    {
        foreach (var loop in Loops)
        {
            if (_isStarted)
                loop.Stop();
            else
                loop.Dispose();
        }

        // A loop without a thread gets one only while the scheduler runs. No await: the pool may be blocked.
        Task.WaitAll([.. Loops.Select(static loop => loop.Ended)], s_endTime);
    }

    /// <summary>Whether a thread has run each loop since the last call. Wakes the loops, for the next call.</summary>
    public bool HaveLoopsAnswered() => Loops.Count(static loop => loop.HasAnswered()) == Loops.Count;

    private static List<EventLoop> CreateLoops(
        StreamContext server, Func<ILogger, EventLoop> createLoop)
    {
        var loops = new List<EventLoop>();
        try
        {
            while (loops.Count < server.Options.Transport.LoopCount)
                loops.Add(createLoop(server.Log));
            return loops;
        }
        catch
        {
            loops.ForEach(static loop => loop.Dispose());
            throw;
        }
    }
}
