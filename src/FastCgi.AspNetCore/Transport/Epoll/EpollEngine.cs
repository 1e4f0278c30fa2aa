namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>The engine for Linux: loops over epoll.</summary>
internal sealed class EpollEngine
{
    private readonly RequestScheduler _scheduler;
    private bool _isStarted;

    public EpollEngine(ConnectionManager manager, RequestScheduler scheduler)
    {
        Manager = manager;
        _scheduler = scheduler;
        var options = manager.Server.Options.Transport;
        var loops = new List<EpollLoop>();
        try
        {
            while (loops.Count < options.LoopCount)
                loops.Add(new EpollLoop(scheduler, manager.Server.Log));
        }
        catch
        {
            loops.ForEach(static loop => loop.Dispose());
            throw;
        }

        Loops = loops;
    }

    public ConnectionManager Manager { get; }
    public IReadOnlyList<EpollLoop> Loops { get; }

    public void Start()
    {
        _isStarted = true;
        foreach (var loop in Loops)
            _scheduler.Workers.Run(new WorkItem(Loop: loop.Queue), Hold.Loop);
    }

    /// <summary>Stops the loops after the connections are closed.</summary>
    public void Stop()
    {
        foreach (var loop in Loops)
        {
            if (_isStarted)
                loop.Stop();
            else
                loop.Dispose();
        }
    }
}
