namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// One connection, without I/O: bytes are pushed in, ready requests are handed out, and output leaves through
/// <see cref="Output"/>. Neither the application nor a log provider is called under its lock.
/// </summary>
internal sealed partial class FastCgiConnection
{
    // Management responses that wait for a peer that does not read: thousands, which no web server approaches.
    private const int MaxControlLength = 256 * 1024;

    // Complete responses that wait for a peer that keeps sending requests. HAProxy, which counts them, stays below.
    private const int MaxPendingResponses = 100;

    private static long s_lastId = DateTime.UtcNow.Ticks;

    private readonly ConnectionManager _manager;
    private readonly StreamContext _server;
    private readonly ConnectionTransport _transport;
    private readonly Guarded<ConnectionState> _state = new();
    private string? _id;
    private string? _peer;

    // Its transport, and each request from its begin until it is over.
    private int _uses = 1;

    // The requests in the table, and those that have left although their application still runs.
    private int _unreturnedCount;
    private bool _isReceivePaused;
    private readonly long _openedAt;

    public FastCgiConnection(ConnectionManager manager, ConnectionTransport transport)
    {
        _manager = manager;
        _server = manager.Server;
        _transport = transport;
        _openedAt = manager.Now;
        Output = new RecordOutput(this, transport);
        using var scope = EnterLock();
        scope.State.Lifetime.Begin(_openedAt);
    }

    public StreamContext Context => _server;

    /// <summary>Whether a request is not over. It may have left. Called only while the connection is open.</summary>
    public bool HasUnfinished => Volatile.Read(ref _uses) > 1;

    public string Id
        => Volatile.Read(ref _id) ?? Interlocked.CompareExchange(ref _id, CreateId(), null) ?? _id;

    public RecordOutput Output { get; }

    /// <summary>Whether receiving is paused until <see cref="ConnectionTransport.ResumeReceiving"/>.</summary>
    public bool IsReceivePaused => Volatile.Read(ref _isReceivePaused);

    public int Age => (int)_server.Time.GetElapsedTime(_openedAt, _manager.Now).TotalSeconds;

    public ConnectionScope EnterLock() => _state.Enter();

    public void RequireLock(ConnectionScope scope) => scope.Require(_state);

    /// <summary>Parses bytes that are split anywhere, and keeps no reference to them.</summary>
    /// <param name="ready">Receives the requests that became ready, and the reports.</param>
    /// <returns>Whether to keep receiving. If not, the connection later makes the transport resume.</returns>
    public bool OnReceived(ReadOnlySpan<byte> data, ref ReadyRequests ready)
    {
        var error = ProtocolError.None;
        using (var scope = EnterLock())
        {
            scope.State.ReceivedLength += data.Length;
            if (scope.State.Lifetime.DropsInput)
            {
                if (scope.State.Lifetime.OnDrained(data.Length, _manager.Now))
                    return true;
            }
            else if ((error = Parse(scope, data, ref ready)) == ProtocolError.None)
            {
                return !_isReceivePaused;
            }
        }

        if (error == ProtocolError.None)
            Fail();
        else
            Fail(error, ref ready);
        return true;
    }

    /// <summary>Creates a name that is unique in this process and, most likely, in the previous one.</summary>
    private static string CreateId()
        => Interlocked.Increment(ref s_lastId).ToString("X16", CultureInfo.InvariantCulture);

    private ProtocolError Parse(ConnectionScope scope, ReadOnlySpan<byte> data, ref ReadyRequests ready)
    {
        var isSameRecord = scope.State.Reader.IsInRecord;
        while (!scope.State.Lifetime.IsOver)
        {
            var result = scope.State.Reader.Read(ref data, out var piece);
            isSameRecord &= result == RecordReadResult.NeedMore || !piece.IsEnd;
            if (result == RecordReadResult.NeedMore)
            {
                if (!isSameRecord)
                    scope.State.RecordSince = _manager.Now;
                PauseIfMust(scope);
                return scope.State.Output.Control.Length <= MaxControlLength
                    ? ProtocolError.None
                    : ProtocolError.AnswersNotRead;
            }

            if (result == RecordReadResult.UnsupportedVersion)
                return scope.State.RequestCount > 0
                    ? ProtocolError.UnsupportedVersion
                    : OtherProtocols.Recognize(data);

            var error = OnPiece(scope, in piece, ref ready);
            if (error != ProtocolError.None)
                return error;
        }

        return ProtocolError.None;
    }

    /// <summary>Other records are ignored: unknown ones, DATA, and those that only a server sends.</summary>
    private ProtocolError OnPiece(ConnectionScope scope, in RecordPiece piece, ref ReadyRequests ready)
    {
        var header = piece.Header;
        if (header.RequestId == ProtocolConstants.NullRequestId)
            return OnManagementPiece(scope, in piece);

        switch (header.Type)
        {
            case RecordType.BeginRequest:
                return OnBeginRequest(scope, in piece, ref ready);
            case RecordType.Params:
                OnParams(scope, in piece, ref ready);
                break;
            case RecordType.Stdin:
                OnStdin(scope, in piece, ref ready);
                break;
            case RecordType.AbortRequest:
                OnAbortRequest(scope, in piece, ref ready);
                break;
        }

        return ProtocolError.None;
    }

    /// <summary>Pauses receiving while too much of a body is unread, or the web server reads no responses.</summary>
    private void PauseIfMust(ConnectionScope scope)
    {
        if (_isReceivePaused || CanReceive(scope))
            return;

        scope.State.PausedSince = _manager.Now;
        Volatile.Write(ref _isReceivePaused, true);
    }

    private bool CanReceive(ConnectionScope scope)
    {
        foreach (var request in scope.State.Requests.Values)
        {
            if (request.UnreadBodyLength > BodyWindow)
                return false;
        }

        return scope.State.Output.Queued.Count(static response => response.IsDetached) <= MaxPendingResponses;
    }

    private long BodyWindow => _server.Options.Limits.MaxRequestBufferSize ?? long.MaxValue;

    /// <summary>Resumes receiving if the application or the web server has read enough.</summary>
    public void ResumeReceiving()
    {
        if (!Volatile.Read(ref _isReceivePaused))
            return;

        using (var scope = EnterLock())
        {
            if (!_isReceivePaused || !CanReceive(scope))
                return;
            _isReceivePaused = false;
            scope.State.ResumedAt = _manager.Now;
        }

        _transport.ResumeReceiving();
    }

    private void Fail(ProtocolError error, ref ReadyRequests ready)
    {
        _server.Counters.OnProtocolError(error);
        if (error == ProtocolError.HttpOnFastCgiPort)
        {
            using (var scope = EnterLock())
                scope.State.Lifetime.CloseAfterRefusal();
        }
        else
        {
            Fail();
        }

        ready.Report(() => Report(error));
    }

    private static ReadOnlySpan<byte> HttpErrorMessage =>
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 126\r\n\r\n"u8
        + "This port speaks FastCGI, not HTTP. Configure the web server to use FastCGI, "u8
        + "for example with fastcgi_pass or mod_proxy_fcgi.\n"u8;

    /// <summary>Logs first, so that an operator who sees the response finds the line that explains it.</summary>
    private void Report(ProtocolError error)
    {
        _server.Log.ProtocolError(Id, error);
        if (OtherProtocols.GetName(error) is { } protocol)
            _server.OnOtherProtocol(protocol, _transport.DescribePeer);

        if (error != ProtocolError.HttpOnFastCgiPort)
            return;

        using (var scope = EnterLock())
        {
            Output.WriteControl(scope, HttpErrorMessage);
            Output.CloseWhenSent(scope);
        }

        Output.FlushNow();
    }

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
            Age,
            GetState(scope),
            scope.State.RequestCount,
            scope.State.Requests.Count,
            scope.State.ReceivedLength,
            scope.State.Output.SentLength);
    }

    private string GetState(ConnectionScope scope)
    {
        if (scope.State.Lifetime.Phase != ConnectionPhase.Open)
            return scope.State.Lifetime.Phase.ToString().ToLowerInvariant();
        if (_isReceivePaused)
            return "paused";

        return scope.State.Requests.Count > 0 ? "active" : "idle";
    }

    /// <summary>Includes requests whose parameters are still arriving.</summary>
    public List<RequestStream> ListRequests()
    {
        using var scope = EnterLock();
        return [.. scope.State.Requests.Values];
    }

    /// <returns><see langword="null"/> if the request has left the connection.</returns>
    public RequestDescription? Describe(RequestStream request)
    {
        using var scope = EnterLock();
        return request.IsDetached ? null : request.Describe(scope, _server.Time.GetTimestamp());
    }

    private static Totals GetTotals(ConnectionScope scope)
        => new(
            1,
            scope.State.RequestCount,
            scope.State.ReceivedLength,
            scope.State.Output.SentLength,
            scope.State.Requests.Values.Count(static request => request.HasAllParameters));
}
