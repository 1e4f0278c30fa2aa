using System.Net.Sockets;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>The engine for Linux: a few loops over epoll.</summary>
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
                loops.Add(new EpollLoop(loops.Count, manager.Server.Log));
        }
        catch
        {
            loops.ForEach(static loop => loop.Dispose());
            throw;
        }

        Loops = loops;
    }

    /// <summary>The connections of the server.</summary>
    public ConnectionManager Manager { get; }

    /// <summary>The loops.</summary>
    public IReadOnlyList<EpollLoop> Loops { get; }

    /// <summary>Starts the loops.</summary>
    public void Start()
    {
        _isStarted = true;
        foreach (var loop in Loops)
        {
            _scheduler.Watchdog.Add(loop.Queue);
            _scheduler.Workers.Run(loop.Queue);
        }
    }

    /// <summary>Makes a listener of a socket that listens.</summary>
    public TransportListener Listen(ListeningSocket socket)
    {
        var listener = new EpollListener(this, socket);
        return new TransportListener(socket.EndPoint, listener.Start, listener.StopAsync);
    }

    /// <summary>The loop that has the fewest connections.</summary>
    public EpollLoop GetLeastLoaded()
    {
        var least = Loops[0];
        for (var i = 1; i < Loops.Count; i++)
        {
            if (Loops[i].SourceCount < least.SourceCount)
                least = Loops[i];
        }

        return least;
    }

    /// <summary>Stops the loops, when the connections are closed.</summary>
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
