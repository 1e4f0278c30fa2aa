namespace FastCgi.AspNetCore.Transport.Epoll;

internal sealed class EpollEngine(ConnectionManager manager, RequestScheduler scheduler)
{
    private static readonly TimeSpan s_endTime = TimeSpan.FromSeconds(1);

    private bool _isStarted;

    public ConnectionManager Manager => manager;
    public IReadOnlyList<EpollLoop> Loops { get; } = CreateLoops(manager.Server, scheduler);

    public void Start()
    {
        _isStarted = true;
        foreach (var loop in Loops)
            scheduler.Workers.Run(new WorkItem(Loop: loop.Queue), Hold.Loop);
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
    public bool HaveLoopsAnswered()
    {
        var haveAll = true;
        foreach (var loop in Loops)
            haveAll &= loop.HasAnswered();
        return haveAll;
    }

    private static List<EpollLoop> CreateLoops(StreamContext server, RequestScheduler scheduler)
    {
        var loops = new List<EpollLoop>();
        try
        {
            while (loops.Count < server.Options.Transport.LoopCount)
                loops.Add(new EpollLoop(scheduler, server.Log));
            return loops;
        }
        catch
        {
            loops.ForEach(static loop => loop.Dispose());
            throw;
        }
    }
}
