namespace FastCgi.AspNetCore.InMemoryTests.Simulation;

/// <summary>
/// A server under load on a simulated machine, and an account that does not rely on the scheduler: how long processors
/// were idle although requests had arrived whose handlers were not called.
/// </summary>
internal sealed class Simulation : IHttpApplication<SimulatedConnection>
{
    // When the loops have their threads.
    private const long ClientsStart = 4_000;

    private static readonly Handler s_sleeper = new("/sleeps", 20, Blocks: 20_000_000);

    private readonly SimulatedMachine _machine;
    private readonly RequestScheduler _scheduler;
    private readonly List<SimulatedLoop> _loops = [];
    private readonly List<SimulatedConnection> _connections = [];
    private readonly Handler[] _handlers;
    private readonly ConnectionManager _manager;
    private readonly Random _random = new(1);
    private readonly long _from;
    private readonly int _count;
    private int _active;
    private int _ready;

    /// <param name="from">When the account begins, in microseconds.</param>
    /// <param name="count">How many requests are accounted for, before the clients send no more.</param>
    public Simulation(
        int processors,
        int loops,
        int connections,
        bool isEven,
        Handler[] handlers,
        long from,
        int count,
        FastCgiApplicationScheduling scheduling)
    {
        (_handlers, _from, _count, _active) = (handlers, from, count, connections);
        _machine = new SimulatedMachine(processors) { OnTimePasses = Account };
        var options = new FastCgiTransportOptions { LoopCount = loops, ApplicationScheduling = scheduling };
        var time = new MachineTime(() => _machine.Now);
        var platform = new SimulatedPlatform(_machine, processors);
        _scheduler = new RequestScheduler(options, platform, time, NullLogger.Instance);
        var server = ServerContext.Create(
            new FastCgiServerOptions(),
            this,
            NullLogger.Instance,
            TimeProvider.System,
            _scheduler.Watchdog.TrySetDeadline);
        _manager = new ConnectionManager(server);
        for (var i = 0; i < loops; i++)
            _loops.Add(new SimulatedLoop(_machine));
        for (var i = 0; i < connections; i++)
            _connections.Add(new SimulatedConnection(i, _machine, _loops[isEven ? i % loops : 0], _manager, Choose));
    }

    /// <summary>How many threads of other processes compute all the time.</summary>
    public int Others { get; init; }

    /// <summary>How many more clients send one request whose handler blocks until long after the account.</summary>
    public int Sleepers { get; init; }

    public long Requests { get; private set; }

    /// <summary>How long the clients needed for the requests accounted for, in microseconds.</summary>
    public long Duration { get; private set; }

    /// <summary>The time for which a processor was idle although a request was ready, of all processors.</summary>
    public long Wasted { get; private set; }

    /// <summary>The longest wait for a longer request in the same loop, although a processor was idle.</summary>
    public long LongestWait { get; private set; }

    /// <summary>The longest time for which one request was ready and a processor idle.</summary>
    public long LongestIdleWait { get; private set; }

    public void Run()
    {
        _machine.After(0, () =>
        {
            _scheduler.Workers.EndFirst();
            _scheduler.Start();
        });
        // One by one, because it takes the system as long to start a thread.
        for (var i = 0; i < _loops.Count; i++)
        {
            var queue = _loops[i].Queue;
            _machine.After((i + 1) * 2 * SimulatedMachine.ThreadStart, () => _scheduler.Workers.Run(queue));
        }

        for (var i = 0; i < Sleepers; i++)
            AddSleeper();
        for (var i = 0; i < Others; i++)
            _machine.Start(() => _machine.ComputeWhile(() => Requests < _count));
        foreach (var connection in _connections)
            _machine.After(ClientsStart + _random.Next(200), connection.SendNext);
        _machine.Run();
        _connections.ForEach(static connection => connection.Connection.OnClosed(new ConnectionResetException("over")));
    }

    public SimulatedConnection CreateContext(IFeatureCollection contextFeatures)
    {
        var query = contextFeatures.Get<IHttpRequestFeature>()!.QueryString;
        return _connections[int.Parse(query.AsSpan(1), CultureInfo.InvariantCulture)];
    }

    public Task ProcessRequestAsync(SimulatedConnection context)
    {
        _ready--;
        context.IsReady = false;
        if (IsCounted)
        {
            Requests++;
            Duration = _machine.Now - _from;
            LongestWait = Math.Max(LongestWait, context.WaitedBehind);
            LongestIdleWait = Math.Max(LongestIdleWait, context.IdleWait);
        }

        return context.RunAsync();
    }

    public void DisposeContext(SimulatedConnection context, Exception? exception)
    {
    }

    private void AddSleeper()
    {
        var isSent = false;
        _connections.Add(new SimulatedConnection(_connections.Count, _machine, _loops[0], _manager, ChooseOnce));

        Handler? ChooseOnce()
        {
            if (isSent)
                return null;

            isSent = true;
            _ready++;
            return s_sleeper;
        }
    }

    private bool IsCounted => _machine.Now >= _from && Requests < _count;

    private Handler? Choose()
    {
        if (Requests < _count)
        {
            _ready++;
            return _handlers[_random.Next(_handlers.Length)];
        }

        if (--_active == 0)
            _machine.After(0, Stop);
        return null;
    }

    private void Stop()
    {
        _scheduler.BeginStop();
        _scheduler.Stop();
        _loops.ForEach(static loop => loop.IsStopping = true);
    }

    private void Account(long time)
    {
        if (!IsCounted)
            return;

        var idle = _machine.Idle;
        if (idle == 0)
            return;

        var ready = _ready;
        foreach (var loop in _loops)
        {
            if (loop.IsExcused)
                ready -= loop.Count;
            if (loop.IsKept)
                loop.KeptTime += time;
        }

        Wasted += time * Math.Min(idle, ready);
        foreach (var connection in _connections)
        {
            if (connection is { IsReady: true, IsExcused: false })
                connection.IdleWait += time;
        }
    }
}
