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
            TimeSpan.FromSeconds(Age),
            scope.State.Lifetime.Phase,
            scope.State.RequestCount,
            scope.State.Requests.Count,
            _isReceivePaused,
            scope.State.ReceivedLength,
            scope.State.Output.SentLength);
    }

    public List<RequestStream> ListRequests()
    {
        using var scope = EnterLock();
        return [.. scope.State.Requests];
    }

    /// <returns><see langword="null"/> if the request has left the connection.</returns>
    public RequestDescription? Describe(RequestStream request)
    {
        using var scope = EnterLock();
        return request.HasLeft ? null : request.Describe(scope, _server.Time.GetTimestamp());
    }

    private static Totals GetTotals(ConnectionScope scope)
        => new(1, scope.State.RequestCount, scope.State.ReceivedLength, scope.State.Output.SentLength);
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
