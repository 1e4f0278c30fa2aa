using System.Collections.Concurrent;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Who ended a request before its answer was complete.</summary>
internal enum AbortCause : byte
{
    /// <summary>The web server, with ABORT_REQUEST.</summary>
    WebServer,

    /// <summary>The web server closed the connection, or the connection was lost.</summary>
    ConnectionLost,

    /// <summary>The application, with <c>HttpContext.Abort()</c>, or because it failed behind the start of its response.</summary>
    Application,

    /// <summary>This server: a time-out, a protocol error, or its end.</summary>
    Server,
}

/// <summary>Counts what is rare, and what nobody can count later: the meter reads it when it is asked.</summary>
internal sealed class ServerCounters
{
    private readonly ConcurrentDictionary<(int StatusCode, string Reason), long> _rejectedRequests = new();
    private readonly ConcurrentDictionary<ProtocolError, long> _protocolErrors = new();
    private readonly long[] _abortedRequests = new long[Enum.GetValues<AbortCause>().Length];
    private long _rejectedConnections;
    private long _refusedPeers;

    /// <summary>The connections for which there was no place.</summary>
    public long RejectedConnections => Volatile.Read(ref _rejectedConnections);

    /// <summary>The connections of peers that may not connect.</summary>
    public long RefusedPeers => Volatile.Read(ref _refusedPeers);

    /// <summary>The requests that ended before their answer was complete, by who ended them.</summary>
    public IEnumerable<KeyValuePair<AbortCause, long>> AbortedRequests
        => Enum.GetValues<AbortCause>().Select(cause => KeyValuePair.Create(cause, Volatile.Read(ref _abortedRequests[(int)cause])));

    /// <summary>The requests that the server answered itself, or whose body it refused, by status and reason.</summary>
    public IEnumerable<KeyValuePair<(int StatusCode, string Reason), long>> RejectedRequests => _rejectedRequests;

    /// <summary>The connections that were closed because of what came on them.</summary>
    public IEnumerable<KeyValuePair<ProtocolError, long>> ProtocolErrors => _protocolErrors;

    public void OnConnectionsRejected(int count) => Interlocked.Add(ref _rejectedConnections, count);

    public void OnPeerRefused() => Interlocked.Increment(ref _refusedPeers);

    public void OnRequestAborted(AbortCause cause) => Interlocked.Increment(ref _abortedRequests[(int)cause]);

    public void OnRequestRejected(int statusCode, string reason) => _rejectedRequests.AddOrUpdate((statusCode, reason), 1, static (_, count) => count + 1);

    public void OnProtocolError(ProtocolError error) => _protocolErrors.AddOrUpdate(error, 1, static (_, count) => count + 1);
}
