using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.Streams;

internal sealed class ConnectionManager(StreamContext server, Histogram<double>? durations = null)
{
    // The time for web servers to accept the ends of cut responses.
    private static readonly TimeSpan s_abortGrace = TimeSpan.FromSeconds(5);

    // If a stop takes longer, the reason is logged. Idle connections are closed sooner.
    private static readonly TimeSpan s_longStop = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private readonly HashSet<FastCgiConnection> _connections = [];
    private int _unfinishedCount;
    private long _lastTick = server.Time.LastTick;
    private readonly LogThrottle _rejections = new(server.Time);
    private readonly LogThrottle _sendTimeouts = new(server.Time);
    private IDisposable? _ticks;

    // The rest of a stop runs inside their completion: on the thread pool or, if handlers keep that, in a tick.
    private readonly TaskCompletionSource _allOver = new();
    private readonly TaskCompletionSource _allGone = new();
    private bool _isStopping;
    private long _stopBeganAt;
    private long _abortedAt = long.MaxValue;

    // For IdleExit; null if it is not set, or is over.
    private Action? _onIdle;
    private Func<(bool IsUsed, long Count)>? _getOtherUse;
    private long _lastUse;
    private long _seenRequests;
    private Totals _closed;

    public StreamContext Server => server;

    public long Now => server.Time.LastTick;

    /// <summary>Whether the server stops, so that each connection closes after its next response.</summary>
    public bool IsStopping => Volatile.Read(ref _isStopping);

    public int Count
    {
        get
        {
            using (_lock.Acquire())
                return _connections.Count;
        }
    }

    /// <summary>Counts the complete requests without a response.</summary>
    public long CountRequests() => GetTotals().Active;

    /// <param name="onIdle">Called once, after <c>IdleExit</c> without a request.</param>
    /// <param name="getOtherUse">Gets whether another server is in use, and how many requests it has received.</param>
    public void Start(Action onIdle, Func<(bool IsUsed, long Count)>? getOtherUse = null)
    {
        _onIdle = server.Options.IdleExit is null ? null : onIdle;
        _getOtherUse = getOtherUse;
        _lastUse = server.Time.GetTimestamp();
        _ticks = ThreadRoot.Repeat(
            "FastCgi clock", server.Time.Source, this, static manager => manager.OnTick(), ServerClock.Interval,
                server.Log);
    }

    public bool TryAdd(FastCgiConnection connection)
    {
        using (_lock.Acquire())
        {
            var limit = server.Options.Limits.MaxConcurrentConnections ?? long.MaxValue;
            if (_connections.Count < limit && !_isStopping)
            {
                _connections.Add(connection);
                _unfinishedCount++;
                return true;
            }
        }

        server.Counters.OnConnectionRejected();
        // On another thread, because no log provider may delay a loop.
        if (_rejections.TryAcquire(out var count))
            ThreadRoot.Queue(
                (server.Log, count), static rejected => rejected.Log.ConnectionRejected(rejected.count), server.Log);
        return false;
    }

    public void Remove(FastCgiConnection connection, Totals totals)
    {
        using (_lock.Acquire())
        {
            if (!_connections.Remove(connection))
                return;

            _closed = Add(_closed, totals);
            // In the same step, so that no connection seems to have handlers only because it has just been closed.
            if (connection.EndUse())
                _unfinishedCount--;
            SignalIfOver();
        }

        // Listeners run on the thread pool, because this thread may be a loop's.
        if (durations is { Enabled: true })
            ThreadRoot.Queue(
                (durations, connection.Age), static closed => closed.durations.Record(closed.Age), server.Log);
    }

    public void OnSendTimeout(string connectionId)
    {
        if (_sendTimeouts.TryAcquire(out var count))
            server.Log.ResponsesNotTaken(server.Options.Limits.SendTimeout, count, connectionId);
    }

    /// <summary>Called when a connection is closed and the application has finished all its requests.</summary>
    public void OnOver()
    {
        using (_lock.Acquire())
        {
            _unfinishedCount--;
            SignalIfOver();
            Invariants.Require(_unfinishedCount >= _connections.Count, "More connections are over than closed.");
        }
    }

    /// <summary>Closes connections after their requests. Aborts the rest when the token fires.</summary>
    public async Task StopAsync(CancellationToken cancellationToken)
    {
        server.Time.Tick();
        using (_lock.Acquire())
        {
            _stopBeganAt = Now;
            Volatile.Write(ref _isStopping, true);
        }

        ForEach(static connection => connection.Stop());
        ContinueStop();

        try
        {
            await _allOver.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            var requests = CountRequests();
            var count = Count;
            ForEach(static connection => connection.Abort());
            server.Time.Tick();
            Volatile.Write(ref _abortedAt, Now);
            if (count > 0)
                ThreadRoot.ReportAndWait(server.Log, log => log.ConnectionsNotClosedInTime(count));
            // The application has used up the shutdown timeout. Requests that still run are not awaited.
            await _allGone.Task.ConfigureAwait(false);
            // No tick will close the rest, whose web servers have neither accepted the ends nor closed.
            ForEach(static connection => connection.Fail());
            var unfinished = CountUnfinished();
            if (requests > 0 || unfinished > 0)
                ThreadRoot.ReportAndWait(server.Log, log => log.StopTimedOut(requests, unfinished));
        }

        // Not awaited: a running callback may wait for the application.
        _ticks?.Dispose();
    }

    /// <summary>Counts the connections whose handlers have not returned. Some may only be draining.</summary>
    private int CountUnfinished()
    {
        using (_lock.Acquire())
        {
            var closedCount = _unfinishedCount - _connections.Count;
            return closedCount + _connections.Count(static connection => connection.HasUnfinished);
        }
    }

    private void SignalIfOver()
    {
        if (_isStopping && _connections.Count == 0)
            ThreadRoot.Queue(this, static manager => manager.ContinueStop(), server.Log);
    }

    private void ExplainStop()
    {
        int count;
        int abandoned;
        using (_lock.Acquire())
        {
            count = _connections.Count;
            abandoned = _unfinishedCount - count;
        }

        var requests = CountRequests();
        ThreadRoot.Report(server.Log, log => log.StopWaits(requests, count, abandoned));
    }

    private void OnTick()
    {
        server.Time.Tick();
        var since = _lastTick;
        var now = _lastTick = Now;
        ForEach(connection => ThreadRoot.Run(
            (connection, since, now),
            static tick => tick.connection.OnTick(tick.since, tick.now),
            server.Log,
            static tick => tick.connection.Fail()));
        server.OnTick();
        server.Buffers.Trim();
        if (IsStopping && server.Time.GetElapsedTime(_stopBeganAt, now) >= s_longStop
            && server.Time.GetElapsedTime(_stopBeganAt, since) < s_longStop)
            ExplainStop();
        if (server.Statistics.IsSampleDue(now))
            server.Statistics.OnSampleDue(GetTotals());
        CheckIdle(since, now);
        // Must be the last call: the rest of the stop may run inside it.
        if (IsStopping)
            ContinueStop();
    }

    private void CheckIdle(long since, long now)
    {
        if (_onIdle is not { } onIdle || server.Options.IdleExit is not { } limit)
            return;

        var other = _getOtherUse?.Invoke() ?? default;
        var requests = GetTotals().Requests + other.Count;
        if (other.IsUsed || CountUnfinished() > 0)
            _lastUse = now;
        else if (requests != _seenRequests)
            _lastUse = since;
        _seenRequests = requests;
        if (server.Time.GetElapsedTime(_lastUse, now) < limit)
            return;

        onIdle();
        _onIdle = null;
    }

    private void ContinueStop()
    {
        if (Volatile.Read(ref _unfinishedCount) == 0)
            _allOver.TrySetResult();
        if (Count == 0 || server.Time.GetElapsedTime(Volatile.Read(ref _abortedAt), Now) >= s_abortGrace)
            _allGone.TrySetResult();
    }

    public Totals GetTotals()
    {
        Totals open = default;
        var closed = ForEach(connection => open = Add(open, connection.GetTotals()));
        return Add(open, closed);
    }

    public IReadOnlyList<ConnectionDescription> Describe(int maxCount)
        => [.. ToList().OrderByDescending(static connection => connection.Age).Take(maxCount)
            .Select(static connection => connection.Describe())];

    /// <summary>Describes the oldest requests. Skipping the others costs next to nothing.</summary>
    public IReadOnlyList<RequestDescription> DescribeRequests(int maxCount)
    {
        var oldest = ToList().SelectMany(static connection => connection.ListRequests())
            .OrderBy(static request => request.BeganAt).Take(maxCount);
        return [.. oldest.Select(static request => request.Connection.Describe(request)).OfType<RequestDescription>()];
    }

    private static Totals Add(Totals left, Totals right)
        => new(
            left.Connections + right.Connections,
            left.Requests + right.Requests,
            left.BytesReceived + right.BytesReceived,
            left.BytesSent + right.BytesSent,
            left.Active + right.Active);

    private Totals ForEach(Action<FastCgiConnection> visit)
    {
        // Pooled: with thousands of connections, a new array per second would go to the large object heap.
        FastCgiConnection[] connections;
        int count;
        Totals closed;
        using (_lock.Acquire())
        {
            closed = _closed;
            count = _connections.Count;
            connections = ArrayPool<FastCgiConnection>.Shared.Rent(count);
            _connections.CopyTo(connections);
        }

        foreach (var connection in connections.AsSpan(0, count))
            visit(connection);
        ArrayPool<FastCgiConnection>.Shared.Return(connections, clearArray: true);
        return closed;
    }

    private List<FastCgiConnection> ToList()
    {
        using (_lock.Acquire())
            return [.. _connections];
    }
}
