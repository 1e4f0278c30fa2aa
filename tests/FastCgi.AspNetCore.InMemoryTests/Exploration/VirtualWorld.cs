namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>An event in a run, other than a request.</summary>
internal enum OutsideEvent
{
    None,
    PeerCloses,
    AbortRecord,
    AbortFromElsewhere,
    Stop,
    ShortSends,

    /// <summary>The system has no thread left for a while.</summary>
    NoThreads,

    /// <summary>A client gives up, and the server stops, in any order.</summary>
    AbortRecordAndStop,
}

/// <summary>
/// One run: a server with one loop, two connections and three requests, two of them multiplexed. The handlers' actions,
/// the other events, and the schedule are choices.
/// </summary>
internal sealed class VirtualWorld
{
    public const int WorkerRank = 1;
    public const int OutsideRank = 3;
    public const int InterruptedRank = 5;
    public const int WatchdogRank = 6;

    // The promise: within two samples.
    private const int MaxQuietLooks = 2;

    // Long enough to need a seat on a loop with little to do.
    private const int ComputingMicroseconds = 500;

    // If threads wait for a processor: the sample that first sees the call, three in the same call, and one already in
    // progress.
    private const int MaxLooks = 5;

    private const int LooksWithoutThreads = 12;

    private readonly VirtualMachine _machine;
    private readonly RequestScheduler _scheduler;
    private readonly ConnectionManager _manager;
    private readonly VirtualLoop _loop;
    private readonly VirtualConnection[] _connections;
    private readonly HandlerScript[] _scripts;
    private readonly OutsideEvent _event;
    private readonly PostedWork _posted = new();
    private readonly bool _hasThreads;
    private readonly int _processors;
    private Task _stopping = Task.CompletedTask;

    public VirtualWorld(
        ServerContext server,
        ChosenDeadlines deadlines,
        ScriptedApplication application,
        Choices choices,
        List<string>? trace = null,
        int maxBlockingThreads = 1_000)
    {
        _hasThreads = maxBlockingThreads >= 3;
        _machine = new VirtualMachine(choices) { Trace = trace, Context = _posted, OnQuiet = OnQuiet };
        _processors = maxBlockingThreads >= 3 ? 2 : 1;
        var platform = new VirtualPlatform(_machine, _processors)
        {
            MayLook = () => !IsDone,
            HasThreads = () => _event != OutsideEvent.NoThreads || _machine.Looks is 0 or > LooksWithoutThreads,
        };
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = maxBlockingThreads };
        // It advances by a millisecond with each sample.
        var time = new MachineTime(() => 1_000 * (_machine.Looks + 1));
        _scheduler = new RequestScheduler(options, platform, time, NullLogger.Instance);
        deadlines.TrySet = _scheduler.Watchdog.TrySetDeadline;
        _manager = new ConnectionManager(server);
        _loop = new VirtualLoop(_scheduler, _machine);

        _scripts = [.. Enumerable.Range(0, 3).Select(i => new HandlerScript(
            _machine, "abc"[i], (HandlerBehavior)choices.Vary(Enum.GetValues<HandlerBehavior>().Length)))];
        application.Scripts = _scripts;
        application.Machine = _machine;
        _event = (OutsideEvent)choices.Vary(Enum.GetValues<OutsideEvent>().Length);
        _connections = [.. "AB".Select(
            name => new VirtualConnection($"{name}", _loop, _manager, _machine, _event == OutsideEvent.ShortSends))];
        _scripts[0].Connection = _scripts[1].Connection = _connections[0];
        _scripts[2].Connection = _connections[1];
        _loop.Add(_connections[0], [.. RecordBytes.Get(1, "/a"), .. RecordBytes.Get(2, "/b")]);
        _loop.Add(_connections[1], RecordBytes.Get(1, "/c"));

        // The server has run for a while, so this is not a cold start.
        _scheduler.Workers.EndFirst();
        foreach (var script in _scripts.Where(static script => script.Behavior == HandlerBehavior.Computes))
            _scheduler.Predictor.OnMeasured(
                new PathKey($"/{script.Word}"), new CallCost(ComputingMicroseconds, IsAsleep: false));
        AddThreads();
        _scheduler.Watchdog.Start();
        _scheduler.Workers.EnsureSpare();
    }

    private bool IsDone
        => Array.TrueForAll(_scripts, static script => script.IsOver || script.IsDropped) && !_loop.HasWork;

    /// <summary>Runs to the end and checks the results.</summary>
    public void Run()
    {
        _machine.Run();
        foreach (var script in _scripts)
            script.CheckEnd();
        foreach (var connection in _connections)
        {
            CheckSent(connection);
            connection.OnClosed(isCut: true);
        }

        // The stop that was under way continues on the thread pool.
        Check(_stopping.Wait(Waiting.Patience), "The stop does not end.");
        Check(
            _manager.StopAsync(CancellationToken.None).IsCompletedSuccessfully,
            "A stop waits, though all requests are over and all connections are closed.");
        Check(_scheduler.Workers.BlockedCount == 0, $"{_scheduler.Workers.BlockedCount} blocked threads are left.");
        var seats = HeldOf(_scheduler.Workers)[(int)Permit.Seat];
        Check(seats == 0, $"{seats} seats are left.");
    }

    /// <summary>Whole records were sent, each request ended once, and each got its own body.</summary>
    private void CheckSent(VirtualConnection connection)
    {
        var sent = new SentRecords();
        var error = sent.Parse(CollectionsMarshal.AsSpan(connection.Sent));
        Check(error is null && !sent.IsAborted, $"{connection.Name}: {error ?? "A response was cut."}");
        // What was cut in the middle of a send may end anywhere.
        Check(!sent.IsCut || connection.IsCut, $"A record of {connection.Name} is incomplete.");
        var scripts = _scripts.Where(script => script.Connection == connection).ToArray();
        for (var i = 0; i < scripts.Length; i++)
        {
            var mayBeAborted = scripts[i].Word == 'a' && _event is OutsideEvent.AbortRecord
                or OutsideEvent.AbortFromElsewhere or OutsideEvent.AbortRecordAndStop;
            scripts[i].CheckAnswer(sent.Answers.GetValueOrDefault(i + 1) ?? new SentAnswer(), mayBeAborted);
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_held")]
    private static extern ref int[] HeldOf(WorkerPool pool);

    private static void Check(bool isSo, string what)
    {
        if (!isSo)
            throw new InvalidOperationException(what);
    }

    private void AddThreads()
    {
        _machine.Add(new VirtualThread("loop event", () => _loop is { IsOwned: false, HasWork: true }, _loop.Wake)
        {
            Rank = WorkerRank,
        });
        _machine.Add(new VirtualThread("thread pool", () => _posted.HasWork, _posted.RunNext) { Rank = WorkerRank });
        foreach (var connection in _connections)
            _machine.Add(new VirtualThread(
                $"room for {connection.Name}", () => connection.CanContinueSend, connection.ContinueSend)
            {
                Rank = OutsideRank,
            });
        foreach (var script in _scripts)
            _machine.Add(new VirtualThread($"answer for {script.Word}", () => script.IsAwaiting, script.EndAwait)
            {
                Rank = OutsideRank,
                IsLate = () => script.IsAnswerLate,
            });

        AddEvents(_event switch
        {
            OutsideEvent.None or OutsideEvent.ShortSends or OutsideEvent.NoThreads => [],
            OutsideEvent.AbortRecordAndStop => [OutsideEvent.AbortRecord, OutsideEvent.Stop],
            _ => [_event],
        });
    }

    private void AddEvents(OutsideEvent[] events)
    {
        foreach (var outside in events)
        {
            var hasHappened = false;
            _machine.Add(new VirtualThread($"{outside}", () => !hasHappened && CanHappen(outside), () =>
            {
                hasHappened = true;
                Happen(outside);
            })
            { Rank = OutsideRank });
        }
    }

    private bool CanHappen(OutsideEvent outside)
        => outside != OutsideEvent.AbortFromElsewhere || _scripts[0].Features is not null;

    private void Happen(OutsideEvent outside)
    {
        switch (outside)
        {
            case OutsideEvent.PeerCloses:
                _loop.Add(_connections[0], null);
                break;
            case OutsideEvent.AbortRecord:
                _scripts[0].IsAborted = true;
                _loop.Add(_connections[0], RecordBytes.Abort(1));
                break;
            case OutsideEvent.AbortFromElsewhere:
                _scripts[0].Abort();
                break;
            case OutsideEvent.Stop:
                _scheduler.BeginStop();
                _stopping = _manager.StopAsync(CancellationToken.None);
                break;
        }
    }

    private void OnQuiet()
    {
        foreach (var script in _scripts)
        {
            // Requests wait if more handlers block than there are threads, or more compute than there are processors.
            var mayWait = !_hasThreads || _event == OutsideEvent.NoThreads
                || (
                    script.Behavior == HandlerBehavior.Computes
                        && _scripts.Count(static script => script.IsComputing) >= _processors);
            if (_machine.QuietLooks >= MaxQuietLooks && !mayWait)
                Check(
                    script.HasBegun || script.IsDropped,
                    $"/{script.Word} has not begun, although only time passes.");
            if (_event != OutsideEvent.NoThreads || _machine.Looks > LooksWithoutThreads + MaxLooks)
                script.CheckFlushes(_machine.QuietLooks >= MaxQuietLooks ? 0 : MaxLooks);
        }
    }

    /// <summary>Runs continuations after an await.</summary>
    private sealed class PostedWork : SynchronizationContext
    {
        private readonly Queue<(SendOrPostCallback Callback, object? State)> _queue = new();

        public bool HasWork => _queue.Count > 0;

        public void RunNext()
        {
            var (callback, state) = _queue.Dequeue();
            callback(state);
        }

        public override void Post(SendOrPostCallback d, object? state) => _queue.Enqueue((d, state));
    }
}
