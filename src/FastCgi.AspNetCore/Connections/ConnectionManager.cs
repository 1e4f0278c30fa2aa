using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>Knows all connections of a server: how many there may be, the clock they go by, and how they end.</summary>
internal sealed class ConnectionManager(ServerContext server, Histogram<double>? durations = null)
{
    private const int MinTickListLength = 64;

    // What aborted connections may take to wind up.
    private static readonly TimeSpan s_abortGrace = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private FastCgiConnection? _first;
    private int _count;
    private int _unfinishedCount;
    private long _lastTick = server.Time.LastTick;
    private readonly LogThrottle _rejections = new(server.Time);
    private ITimer? _timer;
    private TaskCompletionSource? _allOver;
    private TaskCompletionSource? _allGone;
    private bool _isStopping;
    private Action? _onIdle;
    private long _lastUse = server.Time.GetTimestamp();
    private readonly long _startedAt = server.Time.GetTimestamp();
    private Totals _closed;

    // Kept from one tick to the next: with thousands of connections a new one each second would go to the large object heap.
    private List<FastCgiConnection>? _tickList;

    public ServerContext Server => server;

    /// <summary>The time of the last tick: near enough for what is counted in seconds, and free.</summary>
    public long Now => server.Time.LastTick;

    /// <summary>The seconds since the server was made, by <see cref="Now"/>.</summary>
    public int Second => (int)server.Time.GetElapsedTime(_startedAt, Now).TotalSeconds;

    /// <summary>Whether the server stops, so that each connection is closed behind its next answer.</summary>
    public bool IsStopping => Volatile.Read(ref _isStopping);

    /// <summary>How long a connection must have been idle to be closed when the server stops; a tick more, because <see cref="Now"/> lags behind.</summary>
    public TimeSpan ShutdownIdleGracePeriod { get; } = server.Options.Limits.ShutdownIdleGracePeriod switch
    {
        { Ticks: 0 } => TimeSpan.Zero,
        var grace => grace < TimeSpan.MaxValue - ServerClock.Interval ? grace + ServerClock.Interval : TimeSpan.MaxValue,
    };

    public int Count => Volatile.Read(ref _count);

    /// <summary>Counts the requests that are under way on all connections, or wait to be.</summary>
    public long CountRequests() => ToList().Sum(static connection => (long)connection.RequestCount);

    /// <summary>Starts the clock.</summary>
    /// <param name="onIdle">Called once, when there was no request for as long as the options say.</param>
    public void Start(Action onIdle)
    {
        _onIdle = server.Options.IdleExit is null ? null : onIdle;
        _timer = ThreadRoot.StartTimer(server.Time, this, static manager => manager.OnTick(), ServerClock.Interval, ServerClock.Interval, server.Log);
    }

    /// <summary>Adds a connection that was accepted.</summary>
    /// <returns>Whether there is a place for it.</returns>
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

    // On another thread, because this one may be a loop's, which no log provider may hold up. Apart, so that only this allocates the closure.
    private void Report(long count) => ThreadRoot.Report(server.Log, log => log.ConnectionRejected(count));

    /// <returns>Whether it was there.</returns>
    public bool Remove(FastCgiConnection connection)
    {
        var lastUse = connection.LastUse;
        var totals = connection.GetTotals();
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

    /// <summary>A connection is closed, and the application has finished with all its requests.</summary>
    public void OnOver()
    {
        lock (_lock)
        {
            if (--_unfinishedCount == 0)
                _allOver?.TrySetResult();
        }
    }

    /// <summary>Records how long a connection was open, by the second. Whoever listens does so on the thread pool: this thread may be a loop's.</summary>
    public void OnClosed(int openedSecond)
    {
        if (durations is { Enabled: true })
            Record(durations, Math.Max(0, Second - openedSecond));
    }

    /// <summary>
    /// Lets the requests that run finish and closes their connections behind them, and those that are idle as soon as the web server
    /// is not likely to use them; when the token fires, aborts the rest.
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
            // The application has had its time: what it still works on is not waited for.
            await Task.WhenAny(allGone, Task.Delay(s_abortGrace, server.Time, CancellationToken.None)).ConfigureAwait(false);
            if (requests > 0 || Count > 0)
                server.Log.StopTimedOut(requests, Count);
        }

        // Not awaited: a callback that is under way may wait for what runs on in the application.
        _timer?.Dispose();
    }

    // Apart, so that only this allocates the closure.
    private void Record(Histogram<double> durations, int seconds) => ThreadRoot.Report(server.Log, _ => durations.Record(seconds));

    private void OnTick()
    {
        server.Time.Tick();
        var now = Now;
        TickConnections(Interlocked.Exchange(ref _lastTick, now), now);
        server.Admission.EndOverdue();
        server.Buffers.Trim();
        if (server.Statistics.IsSampleDue(Now))
            server.Statistics.OnSampleDue(GetTotals());
        if (_onIdle is not null && server.Time.GetElapsedTime(GetLastUse(), Now) >= server.Options.IdleExit)
        {
            _onIdle();
            _onIdle = null;
        }
    }

    /// <summary>Adds up what the connections have carried, those that are closed too.</summary>
    public Totals GetTotals() => GetTotals(out _);

    /// <summary>The same, and the requests that are under way or wait to be, in one walk over the connections.</summary>
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

    /// <summary>Describes the connections that were opened first.</summary>
    /// <param name="maxCount">How many.</param>
    public IReadOnlyList<ConnectionDescription> Describe(int maxCount)
    {
        // A connection that is added comes first in the list.
        var connections = ToList();
        connections.Reverse();
        return [.. connections.Take(maxCount).Select(static connection => connection.Describe())];
    }

    /// <summary>Describes the requests that began first, of all connections, the oldest first.</summary>
    /// <param name="maxCount">How many.</param>
    public IReadOnlyList<RequestDescription> DescribeRequests(int maxCount)
    {
        var oldest = new OldestRequests(maxCount);
        foreach (var connection in ToList())
            connection.AddTo(oldest);
        return oldest.Describe();
    }

    private static Totals Add(Totals left, Totals right)
        => new(left.Connections + right.Connections, left.Requests + right.Requests, left.BytesReceived + right.BytesReceived, left.BytesSent + right.BytesSent);

    private void TickConnections(long since, long now)
    {
        // A tick that takes long is overtaken by the next one, which has a list of its own.
        var connections = Interlocked.Exchange(ref _tickList, null) ?? [];
        AddTo(connections);
        foreach (var connection in connections)
        {
            ThreadRoot.Run(
                (connection, since, now), static tick => tick.connection.OnTick(tick.since, tick.now), server.Log, static tick => tick.connection.Reset());
        }

        var isTooLarge = connections.Capacity > MinTickListLength && connections.Count < connections.Capacity / 4;
        connections.Clear();
        Volatile.Write(ref _tickList, isTooLarge ? null : connections);
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
