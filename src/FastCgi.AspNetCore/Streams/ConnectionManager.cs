using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.Streams;

/// <summary>All connections of a server: their limit, their clock, and how they end.</summary>
internal sealed class ConnectionManager(StreamContext server, Histogram<double>? durations = null)
{
    private const int MinTickListLength = 64;

    // How long the web servers may take to accept the ends of cut responses.
    private static readonly TimeSpan s_abortGrace = TimeSpan.FromSeconds(5);

    // A stop that takes longer is explained. Idle connections are closed sooner.
    private static readonly TimeSpan s_longStop = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private FastCgiConnection? _first;
    private int _count;
    private int _unfinishedCount;
    private long _lastTick = server.Time.LastTick;
    private readonly LogThrottle _rejections = new(server.Time);
    private IDisposable? _ticks;
    private TaskCompletionSource? _allOver;
    private TaskCompletionSource? _allGone;
    private bool _isStopping;
    private long _stopBeganAt;
    private bool _isStopExplained;
    private Action? _onIdle;
    private long _lastUse = server.Time.GetTimestamp();
    private readonly long _startedAt = server.Time.GetTimestamp();
    private Totals _closed;

    // Reused by each tick: with thousands of connections, a new list per second would go to the large object heap.
    private readonly List<FastCgiConnection> _tickList = [];

    public StreamContext Server => server;

    /// <summary>The time of the last tick, which is precise enough for seconds, and free.</summary>
    public long Now => server.Time.LastTick;

    /// <summary>The seconds since the server was created, by <see cref="Now"/>.</summary>
    public int Second => (int)server.Time.GetElapsedTime(_startedAt, Now).TotalSeconds;

    /// <summary>Whether the server stops, so that each connection closes after its next response.</summary>
    public bool IsStopping => Volatile.Read(ref _isStopping);

    /// <summary>
    /// The idle time before a stop closes a connection. One tick longer than configured, because <see cref="Now"/>
    /// lags.
    /// </summary>
    public TimeSpan ShutdownIdleGracePeriod { get; } = server.Options.Limits.ShutdownIdleGracePeriod switch
    {
        { Ticks: 0 } => TimeSpan.Zero,
        var grace
            => grace < TimeSpan.MaxValue - ServerClock.Interval ? grace + ServerClock.Interval : TimeSpan.MaxValue,
    };

    public int Count => Volatile.Read(ref _count);

    /// <summary>Counts the requests that run or wait, on all connections.</summary>
    public long CountRequests() => ToList().Sum(static connection => (long)connection.RequestCount);

    /// <param name="onIdle">Called once, when there was no request for the time of <c>IdleExit</c>.</param>
    public void Start(Action onIdle)
    {
        _onIdle = server.Options.IdleExit is null ? null : onIdle;
        _ticks = ThreadRoot.Repeat(
            "FastCgi clock", server.Time.Source, this, static manager => manager.OnTick(), ServerClock.Interval,
                server.Log);
    }

    public bool TryAdd(FastCgiConnection connection)
    {
        lock (_lock)
        {
            if (_count < (server.Options.Limits.MaxConcurrentConnections ?? long.MaxValue) && _allOver is null)
            {
                connection.Next = _first;
                if (_first is not null)
                    _first.Previous = connection;
                _first = connection;
                _count++;
                _unfinishedCount++;
                return true;
            }
        }

        server.Counters.OnConnectionsRejected(1);
        if (_rejections.TryAcquire(out var count))
            Report(count);
        return false;
    }

    // On another thread, because no log provider may delay a loop. In its own method, so that only a rejection
    // allocates the closure.
    private void Report(long count) => ThreadRoot.Report(server.Log, log => log.ConnectionRejected(count));

    /// <param name="lastUse">When the connection last had a request.</param>
    /// <param name="totals">What it has carried.</param>
    public bool Remove(FastCgiConnection connection, long lastUse, Totals totals)
    {
        lock (_lock)
        {
            if (connection.Previous is null && _first != connection)
                return false;

            if (connection.Previous is null)
                _first = connection.Next;
            else
                connection.Previous.Next = connection.Next;
            if (connection.Next is not null)
                connection.Next.Previous = connection.Previous;
            connection.Next = connection.Previous = null;
            _lastUse = Math.Max(_lastUse, lastUse);
            _closed = Add(_closed, totals);
            if (--_count == 0)
                _allGone?.TrySetResult();
            return true;
        }
    }

    /// <summary>A connection is closed, and the application has finished all its requests.</summary>
    public void OnOver()
    {
        lock (_lock)
        {
            if (--_unfinishedCount == 0)
                _allOver?.TrySetResult();
            if (Invariants.AreChecked)
                Invariants.Require(_unfinishedCount >= _count, "More connections are over than closed.");
        }
    }

    /// <summary>
    /// Records how long a connection was open, in seconds. Listeners run on the thread pool, because this thread may be
    /// a loop's.
    /// </summary>
    public void OnClosed(int openedSecond)
    {
        if (durations is { Enabled: true })
            Record(durations, Math.Max(0, Second - openedSecond));
    }

    /// <summary>
    /// Closes connections after their requests, and idle ones as soon as they are unlikely to be used. Aborts the rest
    /// when the token fires.
    /// </summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        Task allOver;
        Task allGone;
        lock (_lock)
        {
            _allOver ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_unfinishedCount == 0)
                _allOver.TrySetResult();
            _allGone ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            if (_count == 0)
                _allGone.TrySetResult();
            allOver = _allOver.Task;
            allGone = _allGone.Task;
        }

        server.Time.Tick();
        _stopBeganAt = Now;
        Volatile.Write(ref _isStopping, true);
        foreach (var connection in ToList())
            connection.Stop();

        try
        {
            await allOver.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            var requests = CountRequests();
            if (Count > 0)
                server.Log.ConnectionsNotClosedInTime(Count);
            foreach (var connection in ToList())
                connection.Abort();
            // The application has used up the shutdown timeout. Requests that still run are not awaited.
            await Task.WhenAny(allGone, Task.Delay(s_abortGrace, server.Time, CancellationToken.None))
                .ConfigureAwait(false);
            var unfinished = Volatile.Read(ref _unfinishedCount);
            if (requests > 0 || unfinished > 0)
                server.Log.StopTimedOut(requests, unfinished);
        }

        // Not awaited: a running callback may wait for the application.
        _ticks?.Dispose();
    }

    // In its own method, so that only this allocates the closure.
    private void Record(Histogram<double> durations, int seconds)
        => ThreadRoot.Report(server.Log, _ => durations.Record(seconds));

    private void ExplainStop()
    {
        _isStopExplained = true;
        var count = Count;
        var abandoned = Math.Max(0, Volatile.Read(ref _unfinishedCount) - count);
        var requests = CountRequests();
        ThreadRoot.Report(server.Log, log => log.StopWaits(requests, count, abandoned));
    }

    private void OnTick()
    {
        server.Time.Tick();
        var now = Now;
        TickConnections(_lastTick, now);
        _lastTick = now;
        server.OnTick?.Invoke();
        server.Buffers.Trim();
        if (IsStopping && !_isStopExplained && server.Time.GetElapsedTime(_stopBeganAt, now) >= s_longStop)
            ExplainStop();
        if (server.Statistics.IsSampleDue(Now))
            server.Statistics.OnSampleDue(GetTotals());
        if (_onIdle is not null && server.Time.GetElapsedTime(GetLastUse(), Now) >= server.Options.IdleExit)
        {
            _onIdle();
            _onIdle = null;
        }
    }

    /// <summary>Adds up what open and closed connections have carried.</summary>
    public Totals GetTotals() => GetTotals(out _);

    /// <summary>The same, and the number of requests that run or wait, in one pass over the connections.</summary>
    public Totals GetTotals(out long requestCount)
    {
        var open = new List<FastCgiConnection>();
        Totals totals;
        lock (_lock)
        {
            totals = _closed;
            AddTo(open);
        }

        requestCount = 0;
        foreach (var connection in open)
        {
            totals = Add(totals, connection.GetTotals());
            requestCount += connection.RequestCount;
        }

        return totals;
    }

    public IReadOnlyList<ConnectionDescription> Describe(int maxCount)
    {
        // New connections are added at the head of the list.
        var connections = ToList();
        connections.Reverse();
        return [.. connections.Take(maxCount).Select(static connection => connection.Describe())];
    }

    /// <summary>
    /// Describes the oldest requests, which most likely need attention. The others cost next to nothing.
    /// </summary>
    public IReadOnlyList<RequestDescription> DescribeRequests(int maxCount)
    {
        var oldest = ToList().SelectMany(static connection => connection.ListRequests())
            .OrderBy(static request => request.BeganAt).Take(maxCount);
        return [.. oldest.Select(
            static request
                => request.Connection.DescribeRequest(request.Id, request.Sequence)).OfType<RequestDescription>()];
    }

    private static Totals Add(Totals left, Totals right)
        => new(
            left.Connections + right.Connections, left.Requests + right.Requests, left.BytesReceived
                + right.BytesReceived, left.BytesSent + right.BytesSent);

    private void TickConnections(long since, long now)
    {
        var connections = _tickList;
        AddTo(connections);
        foreach (var connection in connections)
        {
            ThreadRoot.Run(
                (connection, since, now), static tick => tick.connection.OnTick(tick.since, tick.now), server.Log,
                    static tick => tick.connection.Fail());
        }

        var isTooLarge = connections.Capacity > MinTickListLength && connections.Count < connections.Capacity / 4;
        connections.Clear();
        if (isTooLarge)
            connections.TrimExcess();
    }

    private long GetLastUse()
    {
        var lastUse = ToList().Select(static connection => connection.LastUse).Append(0).Max();
        lock (_lock)
            return _lastUse = Math.Max(_lastUse, lastUse);
    }

    private List<FastCgiConnection> ToList()
    {
        var connections = new List<FastCgiConnection>();
        AddTo(connections);
        return connections;
    }

    private void AddTo(List<FastCgiConnection> connections)
    {
        lock (_lock)
        {
            connections.EnsureCapacity(_count);
            for (var connection = _first; connection is not null; connection = connection.Next)
                connections.Add(connection);
        }
    }
}
