using System.Collections.Concurrent;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Counts what is rare, and what nobody can count later: the meter reads it when it is asked.</summary>
internal sealed class ServerCounters
{
    private readonly ConcurrentDictionary<int, long> _rejectedRequests = new();
    private readonly ConcurrentDictionary<ProtocolError, long> _protocolErrors = new();
    private long _rejectedConnections;
    private long _abortedRequests;

    /// <summary>The connections for which there was no place.</summary>
    public long RejectedConnections => Volatile.Read(ref _rejectedConnections);

    /// <summary>The requests that ended before their answer was complete, because the web server aborted them or the connection was lost.</summary>
    public long AbortedRequests => Volatile.Read(ref _abortedRequests);

    /// <summary>The requests that the server answered itself, by status.</summary>
    public IEnumerable<KeyValuePair<int, long>> RejectedRequests => _rejectedRequests;

    /// <summary>The connections that were closed because of what came on them.</summary>
    public IEnumerable<KeyValuePair<ProtocolError, long>> ProtocolErrors => _protocolErrors;

    public void OnConnectionRejected() => Interlocked.Increment(ref _rejectedConnections);

    public void OnRequestAborted() => Interlocked.Increment(ref _abortedRequests);

    public void OnRequestRejected(int statusCode) => _rejectedRequests.AddOrUpdate(statusCode, 1, static (_, count) => count + 1);

    public void OnProtocolError(ProtocolError error) => _protocolErrors.AddOrUpdate(error, 1, static (_, count) => count + 1);
}
