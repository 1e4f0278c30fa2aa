using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Connections;

/// <content>The life of a request on its connection, from BEGIN_REQUEST to END_REQUEST.</content>
internal sealed partial class FastCgiConnection
{
    // Requests that were aborted while their application still runs. Without a bound a peer could begin and abort without end
    // (HTTP/2's rapid reset, CVE-2023-44487).
    private const int MaxLingeringRequests = 100;

    /// <inheritdoc/>
    public override bool OnRequestEnding(FastCgiRequest request)
    {
        lock (Output.Lock)
        {
            if (_requests.Remove(request))
            {
                request.IsEnding = true;
                Interlocked.Increment(ref _endingCount);
                Interlocked.Increment(ref _endsUnderWay);
            }

            _surplus = 0;
            _isClosing |= !request.KeepConnection || _manager.IsStopping;
            _isInputMissing |= !request.IsInputOver;
            IsInputComplete = !_isInputMissing;
            if (_requests.Count > 0)
                return false;

            _idleSince = _manager.Now;
            return _isClosing && request.KeepConnection;
        }
    }

    /// <inheritdoc/>
    public override void OnRequestEnded(FastCgiRequest request)
    {
        if (request.IsEnding)
            Interlocked.Decrement(ref _endsUnderWay);
        if (_isClosing)
            CloseIfIdle();
        Output.Flush();
        // What the application has left unread pauses receiving no more.
        ResumeReceiving();
    }

    /// <inheritdoc/>
    public override void OnRequestReleased(FastCgiRequest request)
    {
        if (request.IsEnding)
        {
            request.IsEnding = false;
            Interlocked.Decrement(ref _endingCount);
            ResumeReceiving();
        }
        else if (request.IsAborted)
        {
            lock (Output.Lock)
                _lingeringCount--;
        }
    }

    /// <inheritdoc/>
    public override void OnBodyConsumed() => ResumeReceiving();

    /// <inheritdoc/>
    public override void Cut(FastCgiRequest request)
    {
        bool isAlone;
        lock (Output.Lock)
        {
            var wasThere = _requests.Remove(request);
            // Its end is not to come any more.
            if (!wasThere && request.IsEnding)
                Interlocked.Decrement(ref _endsUnderWay);
            isAlone = IsIdle;
            _isClosing |= isAlone;
            if (request.IsAborted)
                _lingeringCount++;
            if (wasThere && !isAlone && request.IsAborted)
                Output.WriteEndRequest(request.Id, appStatus: 1, ProtocolStatus.RequestComplete);
        }

        if (isAlone && (_transport.CanReset || request.IsAborted))
        {
            request.Response.Output.SendHeldFlush();
            _transport.Reset();
            return;
        }

        request.Response.Output.EndCut(isLast: isAlone);
        if (isAlone)
            CloseIfIdle();
        else
            ResumeReceiving();
        Output.Flush();
    }

    /// <summary>Receiving goes on, if it was paused and nothing stands against it any more.</summary>
    private void ResumeReceiving()
    {
        if (!Volatile.Read(ref _isReceivePaused))
            return;

        lock (Output.Lock)
        {
            if (!_isReceivePaused || !CanReceive())
                return;
            _isReceivePaused = false;
        }

        _transport.ResumeReceiving();
    }

    private ProtocolError OnBeginRequest(in RecordPiece piece)
    {
        if (!_partialContent.TryComplete(in piece, ProtocolConstants.FixedBodyLength, out var content))
            return piece.Header.ContentLength == ProtocolConstants.FixedBodyLength ? ProtocolError.None : ProtocolError.BeginRequestLength;

        var id = piece.Header.RequestId;
        if (_requests.Find(id) is not null)
            return ProtocolError.DuplicateRequestId;

        _requestCount++;
        // The last answer is on its way and the connection is closed behind it.
        if (_isClosing && !_isLeaving && _requests.Count == 0)
            return ProtocolError.None;

        var body = BeginRequestBody.Parse(content);
        var role = (FastCgiRole)body.Role;
        if (!_server.IsServed(role))
        {
            _manager.ReportRole(role);
            Refuse(id, body.KeepConnection, ProtocolStatus.UnknownRole);
            return ProtocolError.None;
        }

        // Requests beyond the limit are answered so that the client sees why, but those have to be kept until their params have come.
        var limit = _server.Options.Limits.MaxRequestsPerConnection;
        if (_requests.Count >= 2 * limit)
        {
            Refuse(id, body.KeepConnection, limit == 1 ? ProtocolStatus.CantMultiplexConnection : ProtocolStatus.Overloaded);
            return ProtocolError.None;
        }

        _isShared |= _requests.Count > 0;
        if (_surplus > 0)
            RefuseUnreadBodies();
        var request = _server.Requests.Rent();
        request.Begin(this, id, role, body.KeepConnection, _requestCount);
        request.BeganAt = _manager.Now;
        _halfOpenCount++;
        if (_requests.Count >= limit)
            request.Reject(limit == 1 ? RequestRejection.CannotMultiplex : RequestRejection.TooManyRequests);
        else if (_lingeringCount >= MaxLingeringRequests)
            request.Reject(RequestRejection.TooManyRequests);
        _requests.Add(request);
        _isLeaving = false;
        _drainSince = 0;
        return ProtocolError.None;
    }

    private void OnParams(in RecordPiece piece, ref ReadyRequests ready)
    {
        if (_requests.Find(piece.Header.RequestId) is not { HasAllParameters: false } request)
            return;

        if (piece.IsEmptyRecord)
            MakeReady(request, ref ready);
        else
            request.AppendParameters(piece.Content, isWhole: piece.IsStart && piece.IsEnd);
    }

    private void OnStdin(in RecordPiece piece, ref ReadyRequests ready)
    {
        if (_requests.Find(piece.Header.RequestId) is not { } request)
            return;

        if (!request.HasAllParameters)
        {
            request.Reject(RequestRejection.StdinBeforeEndOfParameters);
            MakeReady(request, ref ready);
        }
        else if (piece.IsEmptyRecord)
        {
            request.EndStdin();
        }
        else
        {
            request.AppendBody(piece.Content);
        }
    }

    private void OnData(in RecordPiece piece)
    {
        if (_requests.Find(piece.Header.RequestId) is not { HasAllParameters: true } request)
            return;

        if (piece.IsEmptyRecord)
            request.EndData();
        else
            request.AppendData(piece.Content);
    }

    private void OnAbortRequest(in RecordPiece piece)
    {
        if (!piece.IsEnd || _requests.Find(piece.Header.RequestId) is not { } request)
            return;

        _server.Log.AbortRequestReceived(Id, request.Id);
        var keepConnection = request.KeepConnection;
        Drop(request, new ConnectionResetException("The web server aborted the request."));
        Output.WriteEndRequest(piece.Header.RequestId, appStatus: 0, ProtocolStatus.RequestComplete);
        CloseIfIdle(keepConnection);
    }

    /// <summary>Ends a request at its beginning. What follows with its id is ignored.</summary>
    private void Refuse(ushort id, bool keepConnection, ProtocolStatus status)
    {
        Output.WriteEndRequest(id, appStatus: 0, status);
        CloseIfIdle(keepConnection);
    }

    /// <summary>Takes a request that nobody waits for off the connection.</summary>
    private void Drop(FastCgiRequest request, Exception reason)
    {
        _requests.Remove(request);
        if (!request.HasAllParameters)
        {
            _halfOpenCount--;
            request.Forget();
        }
        else if (request.Abort(reason))
        {
            _lingeringCount++;
            _server.Counters.OnRequestAborted();
        }
    }

    private void MakeReady(FastCgiRequest request, ref ReadyRequests ready)
    {
        _halfOpenCount--;
        request.Prepare();
        var admission = request.Rejection == RequestRejection.None ? _server.Admission.Admit(request) : AdmissionResult.Admitted;
        if (admission == AdmissionResult.Refused)
            request.Reject(RequestRejection.TooManyRequests);
        if (admission != AdmissionResult.Queued)
            ready.Add(request);
    }

    /// <summary>Whether no request lives on the connection, and none has left the table whose END_REQUEST is still to come.</summary>
    private bool IsIdle => _requests.Count == 0 && Volatile.Read(ref _endsUnderWay) == 0;

    /// <summary>A request has ended that never ran to its end: the connection is closed if it was the last.</summary>
    private void CloseIfIdle(bool keepConnection)
    {
        if (keepConnection)
            return;

        _isClosing = true;
        CloseIfIdle();
    }

    /// <summary>Lets the transport close the connection behind what is in the line, if no request lives on it.</summary>
    private void CloseIfIdle()
    {
        lock (Output.Lock)
        {
            if (!IsIdle)
                return;

            _drainSince = _manager.Now;
            Output.CloseWhenSent();
        }
    }
}
