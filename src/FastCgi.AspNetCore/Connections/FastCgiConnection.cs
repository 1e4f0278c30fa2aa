using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// One connection of a web server. It never reads: a transport pushes what it received, all of it is parsed, and the requests that
/// became ready with it are handed out to be executed; what they write leaves through <see cref="Output"/>.
/// </summary>
/// <remarks>
/// Everything is guarded by the lock of the outlet. The application is never called under it. The parts: <c>.Requests</c> is the
/// life of a request on the connection, <c>.Management</c> the records with id 0.
/// </remarks>
internal sealed partial class FastCgiConnection : RequestConnection
{
    // Answers to GET_VALUES and the like that wait for a peer that does not read: thousands, which no front-end gets near.
    private const int MaxControlLength = 256 * 1024;

    // Complete responses that wait for a peer that goes on sending requests. Whoever counts them, as HAProxy does, stays below.
    private const int MaxUnsentResponses = 100;

    // What is received beyond the window to see whether other requests wait behind a body: what the buffers of HAProxy and of the
    // system hold between them.
    private const long MaxSurplus = 4 * 1024 * 1024;

    private readonly ConnectionManager _manager;
    private readonly ServerContext _server;
    private readonly ConnectionTransport _transport;
    private RecordReader _reader;
    private RequestTable _requests;
    private RecordContent _partialContent;
    private string? _id;
    private uint _requestCount;
    private int _halfOpenCount;
    private int _lingeringCount;
    private int _endingCount;
    private int _endsUnderWay;
    private long _surplus;
    private bool _isShared;
    private bool _isReceivePaused;
    private bool _isClosing;
    private bool _isLeaving;
    private bool _isClosed;
    private bool _isInputMissing;
    private long _pausedSince;
    private long _idleSince;
    private long _drainSince;

    public FastCgiConnection(ConnectionManager manager, ConnectionTransport transport)
    {
        _manager = manager;
        _server = manager.Server;
        _transport = transport;
        _idleSince = manager.Now;
        Output = new RecordOutput(_server.Buffers);
        Output.Attach(transport);
    }

    /// <summary>The neighbours in the list of <see cref="ConnectionManager"/>.</summary>
    public FastCgiConnection? Next { get; set; }

    /// <inheritdoc cref="Next"/>
    public FastCgiConnection? Previous { get; set; }

    /// <summary>The requests that have come and are not answered.</summary>
    public int RequestCount
    {
        get
        {
            lock (Output.Lock)
                return _requests.Count - _halfOpenCount;
        }
    }

    /// <inheritdoc/>
    public override string Id => _id ??= ConnectionId.Next();

    /// <inheritdoc/>
    public override RecordOutput Output { get; }

    /// <summary>Whether receiving is paused, until <see cref="ConnectionTransport.ResumeReceiving"/> is called.</summary>
    public bool IsReceivePaused => Volatile.Read(ref _isReceivePaused);

    /// <summary>
    /// Whether the web server has sent all of its requests, so that it sends nothing more that a reset could answer, and the connection
    /// can be closed without waiting for it.
    /// </summary>
    public bool IsInputComplete { get; private set; }

    /// <summary>
    /// Whether the connection is closed though the web server may be about to use it. The transport looks for what it has sent
    /// before it closes, and does not, if there is something: that request is answered first.
    /// </summary>
    public bool IsLeaving
    {
        get
        {
            lock (Output.Lock)
                return _isLeaving;
        }
    }

    /// <summary>Whether requests live on the connection, so that only a reset ends it.</summary>
    public bool HasRequests
    {
        get
        {
            lock (Output.Lock)
                return _requests.Count > 0;
        }
    }

    /// <summary>Takes bytes that were received: all of them are parsed, and nothing refers to them afterwards.</summary>
    /// <param name="data">The bytes, cut anywhere.</param>
    /// <param name="ready">Gets the requests that became ready, for the transport to execute.</param>
    /// <returns>Whether to go on receiving; if not, <see cref="ConnectionTransport.ResumeReceiving"/> will be called.</returns>
    public bool OnReceived(ReadOnlySpan<byte> data, ref ReadyRequests ready)
    {
        var error = ProtocolError.None;
        lock (Output.Lock)
        {
            while (error == ProtocolError.None && !_isClosed)
            {
                var firstByte = data.IsEmpty ? (byte)0 : data[0];
                var result = _reader.Read(ref data, out var piece);
                if (result == RecordReadResult.NeedMore)
                {
                    if (Output.ControlLength <= MaxControlLength)
                        return !MustPause();

                    error = ProtocolError.AnswersNotRead;
                    break;
                }

                error = result == RecordReadResult.Piece ? OnPiece(in piece, ref ready) : GetVersionError(firstByte);
            }
        }

        if (error != ProtocolError.None)
            Fail(error);
        return true;
    }

    /// <summary>The connection is gone: closed by the web server, lost, or reset by ourselves.</summary>
    /// <param name="error">What the application's reads fail with.</param>
    public void OnClosed(Exception error)
    {
        lock (Output.Lock)
        {
            if (_isClosed)
                return;

            _isClosed = true;
            foreach (var request in _requests.ToList())
                Drop(request, error);
            _partialContent.Return();
            Output.Abandon();
        }

        _manager.Remove(this);
    }

    /// <summary>What each type of record does. Those that only a server sends, and those that nobody knows, are ignored.</summary>
    private ProtocolError OnPiece(in RecordPiece piece, ref ReadyRequests ready)
    {
        var header = piece.Header;
        if (header.RequestId == ProtocolConstants.NullRequestId)
            return OnManagementPiece(in piece);

        switch (header.Type)
        {
            case RecordType.BeginRequest:
                return OnBeginRequest(in piece);
            case RecordType.Params:
                OnParams(in piece, ref ready);
                break;
            case RecordType.Stdin:
                OnStdin(in piece, ref ready);
                break;
            case RecordType.Data:
                OnData(in piece);
                break;
            case RecordType.AbortRequest:
                OnAbortRequest(in piece);
                break;
        }

        return ProtocolError.None;
    }

    /// <summary>
    /// Receiving pauses while an application leaves more of a body unread than the limit, and while the web server does not take what
    /// is answered.
    /// </summary>
    private bool MustPause()
    {
        if (!CanReceive() && !_isReceivePaused)
        {
            _isReceivePaused = true;
            _pausedSince = _manager.Now;
        }

        return _isReceivePaused;
    }

    private bool CanReceive()
        => Volatile.Read(ref _endingCount) <= MaxUnsentResponses && _requests.GetMaxUnreadBodyLength() - _surplus <= BodyWindow;

    private long BodyWindow => _server.Options.Limits.MaxRequestBufferSize ?? long.MaxValue;

    private ProtocolError GetVersionError(byte firstByte)
    {
        if (_requestCount > 0)
            return ProtocolError.UnsupportedVersion;

        if (firstByte == 0x16)
            return ProtocolError.TlsOnFastCgiPort;

        return char.IsAsciiLetterUpper((char)firstByte) ? ProtocolError.HttpOnFastCgiPort : ProtocolError.UnsupportedVersion;
    }

    /// <summary>Nothing that follows can be trusted: the connection is closed, after one line to whoever speaks HTTP.</summary>
    private void Fail(ProtocolError error)
    {
        _server.Counters.OnProtocolError(error);
        _server.Log.ProtocolError(Id, error);
        var isHttp = error == ProtocolError.HttpOnFastCgiPort;
        if (isHttp)
        {
            lock (Output.Lock)
            {
                _isClosing = true;
                var answer = WrongProtocolReport.HttpAnswer;
                answer.CopyTo(Output.WriteControl(answer.Length));
                Output.CloseWhenSent();
            }

            Output.Flush();
        }

        if (isHttp || error == ProtocolError.TlsOnFastCgiPort)
            _manager.WrongProtocol.Report(_server.Log, error, _transport.RemoteEndPoint);
        if (!isHttp)
            _transport.Reset();
    }
}
