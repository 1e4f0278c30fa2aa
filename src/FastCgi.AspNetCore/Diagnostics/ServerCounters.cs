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

internal sealed class ServerCounters
{
    private readonly long[] _rejectedRequests = new long[Enum.GetValues<RequestRejection>().Length];
    private readonly long[] _protocolErrors = new long[Enum.GetValues<ProtocolError>().Length];
    private readonly long[] _abortedRequests = new long[Enum.GetValues<AbortCause>().Length];
    private long _rejectedConnections;
    private long _refusedPeers;

    public long RejectedConnections => Volatile.Read(ref _rejectedConnections);
    public long RefusedPeers => Volatile.Read(ref _refusedPeers);

    public IEnumerable<KeyValuePair<AbortCause, long>> AbortedRequests => Read<AbortCause>(_abortedRequests);

    /// <summary>The number of requests that the server rejected, or whose body it refused.</summary>
    public IEnumerable<KeyValuePair<RequestRejection, long>> RejectedRequests
        => Read<RequestRejection>(_rejectedRequests).Where(static count => count.Value > 0);

    public IEnumerable<KeyValuePair<ProtocolError, long>> ProtocolErrors
        => Read<ProtocolError>(_protocolErrors).Where(static count => count.Value > 0);

    public void OnConnectionRejected() => Interlocked.Increment(ref _rejectedConnections);

    public void OnPeerRefused() => Interlocked.Increment(ref _refusedPeers);

    public void OnRequestAborted(AbortCause cause) => Interlocked.Increment(ref _abortedRequests[(int)cause]);

    public void OnRequestRejected(RequestRejection reason) => Interlocked.Increment(ref _rejectedRequests[(int)reason]);

    public void OnProtocolError(ProtocolError error) => Interlocked.Increment(ref _protocolErrors[(int)error]);

    private static IEnumerable<KeyValuePair<T, long>> Read<T>(long[] counts)
        where T : struct, Enum
        => Enum.GetValues<T>().Select((cause, index) => KeyValuePair.Create(cause, Volatile.Read(ref counts[index])));
}
