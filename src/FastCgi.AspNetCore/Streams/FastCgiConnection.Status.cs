namespace FastCgi.AspNetCore.Streams;

/// <content>The connection as the status shows it. It costs nothing until the status is read.</content>
internal sealed partial class FastCgiConnection
{
    private string? _peer;

    public Totals GetTotals()
    {
        using var scope = EnterLock();
        return GetTotals(scope);
    }

    public ConnectionDescription Describe()
    {
        // This queries the system: do it once, and not under the lock.
        var peer = _peer ??= _transport.DescribePeer();
        var id = Id;
        using var scope = EnterLock();
        return new ConnectionDescription(
            id,
            peer,
            TimeSpan.FromSeconds(Math.Max(0, _manager.Second - _openedSecond)),
            scope.State.Lifetime.Phase,
            scope.State.RequestCount,
            scope.State.Requests.Count,
            _isReceivePaused,
            scope.State.ReceivedLength,
            scope.State.Output.SentLength);
    }

    public IEnumerable<(FastCgiConnection Connection, ushort Id, uint Sequence, long BeganAt)> ListRequests()
    {
        using var scope = EnterLock();
        if (scope.State.Requests.Count == 0)
            return [];

        return scope.State.Requests.ToList()
            .ConvertAll(request => (this, request.Id, request.Sequence, request.BeganAt));
    }

    /// <returns><see langword="null"/> if the request is over.</returns>
    public RequestDescription? DescribeRequest(ushort id, uint sequence)
    {
        using var scope = EnterLock();
        return scope.State.Requests.Find(id) is { } request && request.Sequence == sequence
            ? request.Describe(scope, _server.Time.GetTimestamp())
            : null;
    }

    private static Totals GetTotals(ConnectionScope scope)
        => new(1, scope.State.RequestCount, scope.State.ReceivedLength, scope.State.Output.SentLength);

    /// <summary>Reports requests that have become slow since the previous tick.</summary>
    private void FindSlow(ConnectionScope scope, TimeSpan threshold, long since, long now, ref ReadyRequests ready)
    {
        foreach (var request in scope.State.Requests.ToList())
        {
            var began = request.BeganAt;
            if (_server.Time.GetElapsedTime(began, now) < threshold
                || _server.Time.GetElapsedTime(began, since) >= threshold)
                continue;

            request.OnSlow(request.Describe(scope, _server.Time.GetTimestamp()), ref ready);
        }
    }
}

/// <summary>A connection as the status shows it.</summary>
internal sealed record ConnectionDescription(
    string Id,
    string Peer,
    TimeSpan Age,
    ConnectionPhase Phase,
    long RequestCount,
    int ActiveCount,
    bool IsReceivePaused,
    long BytesReceived,
    long BytesSent);
