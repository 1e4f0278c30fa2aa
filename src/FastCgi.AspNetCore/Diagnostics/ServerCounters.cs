using System.Collections.Concurrent;

namespace FastCgi.AspNetCore.Diagnostics;

internal enum AbortCause : byte
{
    WebServer,

    ConnectionLost,

    /// <summary><c>HttpContext.Abort()</c>, or an exception after the start of the response.</summary>
    Application,

    /// <summary>A timeout, a protocol error or a shutdown of this server.</summary>
    Server,
}

/// <summary>Counters of rare events. The meter reads them on collection.</summary>
internal sealed class ServerCounters
{
    private readonly ConcurrentDictionary<(int StatusCode, string Reason), long> _rejectedRequests = new();
    private readonly ConcurrentDictionary<ProtocolError, long> _protocolErrors = new();
    private readonly long[] _abortedRequests = new long[Enum.GetValues<AbortCause>().Length];
    private long _rejectedConnections;
    private long _refusedPeers;

    public long RejectedConnections => Volatile.Read(ref _rejectedConnections);
    public long RefusedPeers => Volatile.Read(ref _refusedPeers);

    public IEnumerable<KeyValuePair<AbortCause, long>> AbortedRequests
        => Enum.GetValues<AbortCause>()
            .Select(cause => KeyValuePair.Create(cause, Volatile.Read(ref _abortedRequests[(int)cause])));

    /// <summary>The number of requests that the server rejected, or whose body it refused.</summary>
    public IEnumerable<KeyValuePair<(int StatusCode, string Reason), long>> RejectedRequests => _rejectedRequests;

    public IEnumerable<KeyValuePair<ProtocolError, long>> ProtocolErrors => _protocolErrors;

    public void OnConnectionsRejected(int count) => Interlocked.Add(ref _rejectedConnections, count);

    public void OnPeerRefused() => Interlocked.Increment(ref _refusedPeers);

    public void OnRequestAborted(AbortCause cause) => Interlocked.Increment(ref _abortedRequests[(int)cause]);

    public void OnRequestRejected(int statusCode, string reason)
        => _rejectedRequests.AddOrUpdate((statusCode, reason), 1, static (_, count) => count + 1);

    public void OnProtocolError(ProtocolError error)
        => _protocolErrors.AddOrUpdate(error, 1, static (_, count) => count + 1);
}
