using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Connections;

/// <content>How requests leave the connection, and how the connection ends: each in one step with the lock held.</content>
internal sealed partial class FastCgiConnection
{
    /// <inheritdoc/>
    public override EndedRequest End(FastCgiRequest request, BufferChain records, ProtocolStatus? status, bool sends)
    {
        using var scope = EnterLock();
        var output = request.Response.Output;
        if (!TryRemove(scope, request, status is null ? RequestPhase.Cut : RequestPhase.Ended))
        {
            BufferBlock.ReturnChain(records.Head);
            return default;
        }

        var ending = status is null
            ? DecideCut(scope, request, canSend: true)
            : _lifetime.OnComplete(request.KeepConnection, _manager.IsStopping, isLast: _requests.Count == 0);
        if (GetLength(ending) is > 0 and var length)
            WriteEnding(records.Write(Output.Pool, length), request.Id, ending, status.GetValueOrDefault());
        output.QueueEnd(scope, records.Head);
        OnRequestLeft(scope, request.IsInputOver);
        var chain = sends ? Output.Collect(scope) : null;
        return new EndedRequest(this, chain, EndsTransport: ending == RequestEnding.CutByReset);
    }

    /// <inheritdoc/>
    public override bool TryAbort(FastCgiRequest request, Exception reason)
    {
        RequestEnding ending;
        using (var scope = EnterLock())
        {
            if (!request.HasAllParameters || !TryDrop(scope, request, reason, AbortCause.Application))
                return false;

            ending = DecideCut(scope, request, canSend: Output.IsIdle(scope));
            if (GetLength(ending) is > 0 and var length)
                WriteEnding(Output.WriteControl(scope, length), request.Id, ending, status: default);
            OnRequestLeft(scope, request.IsInputOver);
        }

        if (ending == RequestEnding.CutByReset)
            _transport.End();
        else
            Output.FlushNow();
        ResumeReceiving();
        return true;
    }

    /// <summary>
    /// Ends the connection at once, and what it carries, so that the peer sees an error: nothing that follows can be trusted, or be waited for.
    /// </summary>
    public void Reset()
    {
        using (var scope = EnterLock())
        {
            if (!_lifetime.TryReset())
                return;
            // Now, not when the transport comes to it: what is written until then is lost, and no handler may take its response for sent.
            DropAll(scope, new ConnectionAbortedException("The connection was closed by the server."), AbortCause.Server);
        }

        _transport.End();
    }

    /// <inheritdoc/>
    public override void EndTransport() => _transport.End();

    /// <summary>Asked by the transport what it is to do.</summary>
    public EndAction DecideEnd()
    {
        using var scope = EnterLock();
        var isIdle = Output.IsIdle(scope);
        var action = _lifetime.Decide(isIdle && _requests.Count == 0, _manager.Now);
        // A request has come since, and its answer is being sent: the transport asks again after it.
        if (action == EndAction.None && !isIdle)
            Output.EndWhenSent(scope);
        return action;
    }

    /// <inheritdoc cref="ConnectionLifetime.TryEndLeaving"/>
    public bool TryEndLeaving()
    {
        using (EnterLock())
            return _lifetime.TryEndLeaving();
    }

    /// <summary>The connection is gone: closed by the web server, lost, or ended as <see cref="DecideEnd"/> said.</summary>
    /// <param name="error">What the application's reads fail with.</param>
    public void OnClosed(Exception error)
    {
        using (var scope = EnterLock())
        {
            if (_lifetime.Phase == ConnectionPhase.Closed)
                return;

            _lifetime.OnClosed();
            DropAll(scope, error, AbortCause.ConnectionLost);
            _partialContent.Return();
            Output.Abandon(scope);
        }

        var wasThere = _manager.Remove(this);
        _manager.OnClosed(_openedSecond);
        if (wasThere && _uses.RemoveTransport())
            _manager.OnOver();
    }

    /// <inheritdoc/>
    public override void OnApplicationReturned() => _uses.OnReturned();

    /// <inheritdoc/>
    public override void OnRequestOver()
    {
        if (_uses.RemoveRequest())
            _manager.OnOver();
    }

    /// <summary>The one way of a request out of the table.</summary>
    /// <returns>Whether this call took it; whoever comes later does nothing.</returns>
    private bool TryRemove(ConnectionScope scope, FastCgiRequest request, RequestPhase how)
    {
        if (!request.TryLeave(scope, how))
            return false;

        var wasThere = _requests.Remove(request);
        if (Invariants.AreChecked)
            Invariants.Require(wasThere, "A request that has not left is not in the table of its connection.");
        _surplus = 0;
        if (how == RequestPhase.Over)
            _halfOpenCount--;
        else
            _uses.Add();
        return true;
    }

    /// <summary>Takes a request whose answer nobody waits for off the connection.</summary>
    private bool TryDrop(ConnectionScope scope, FastCgiRequest request, Exception reason, AbortCause cause)
    {
        if (!request.HasAllParameters)
            return TryRemove(scope, request, RequestPhase.Over);

        if (!TryRemove(scope, request, RequestPhase.Aborted))
            return false;

        if (cause is AbortCause.WebServer or AbortCause.ConnectionLost)
            ReportIfGivenUp(request);
        request.OnAborted(scope, reason);
        _server.Counters.OnRequestAborted(cause);
        return true;
    }

    private void ReportIfGivenUp(FastCgiRequest request)
    {
        if (_server.Advisor is null || request is not { IsAnswered: false, Response.BytesWritten: 0 })
            return;

        var age = _server.Time.GetElapsedTime(request.BeganAt);
        if (age >= Advisor.MinGivenUpAge)
        {
            ThreadRoot.Queue(
                (server: _server, request.Parameters, age),
                static given => given.server.Advise(given, static (advisor, given) => advisor.OnGivenUp(given.Parameters, given.age)),
                _server.Log);
        }
    }

    private void DropAll(ConnectionScope scope, Exception reason, AbortCause cause)
    {
        foreach (var request in _requests.ToList())
        {
            TryDrop(scope, request, reason, cause);
            OnRequestLeft(scope, request.IsInputOver);
        }
    }

    private RequestEnding DecideCut(ConnectionScope scope, FastCgiRequest request, bool canSend)
    {
        var harmsOthers = _requests.Count > 0 || Output.HasOtherAnswers(scope, request.Response.Output, _isShared);
        var ending = _lifetime.OnCut(harmsOthers, _transport.CanReset, canSend);
        if (ending == RequestEnding.CutByEndRequest && !request.KeepConnection)
            _lifetime.CloseAfterLast();
        return ending;
    }

    private static int GetLength(RequestEnding ending) => ending switch
    {
        RequestEnding.Complete => ProtocolConstants.HeaderLength + RecordWriter.FixedRecordLength,
        RequestEnding.CompleteWithFarewell => ProtocolConstants.HeaderLength + RecordWriter.FixedRecordLength + ProtocolConstants.HeaderLength,
        RequestEnding.CutByEndRequest => RecordWriter.FixedRecordLength,
        RequestEnding.CutByClose => ProtocolConstants.HeaderLength,
        _ => 0,
    };

    private static void WriteEnding(Span<byte> destination, ushort id, RequestEnding ending, ProtocolStatus status)
    {
        switch (ending)
        {
            case RequestEnding.Complete or RequestEnding.CompleteWithFarewell:
                RecordWriter.WriteHeader(destination, RecordType.Stdout, id, contentLength: 0);
                RecordWriter.WriteEndRequest(destination[ProtocolConstants.HeaderLength..], id, appStatus: 0, status);
                if (ending == RequestEnding.CompleteWithFarewell)
                    RecordWriter.WriteHeader(destination[^ProtocolConstants.HeaderLength..], RecordType.GetValuesResult, ProtocolConstants.NullRequestId, contentLength: 0);
                break;
            case RequestEnding.CutByEndRequest:
                RecordWriter.WriteEndRequest(destination, id, appStatus: 1, ProtocolStatus.RequestComplete);
                break;
            case RequestEnding.CutByClose:
                RecordWriter.WriteHeader(destination, RecordType.AbortRequest, id, contentLength: 0);
                break;
        }
    }

    private void OnRequestLeft(ConnectionScope scope, bool isInputOver)
    {
        if (_lifetime.OnRequestLeft(isInputOver, hasRequests: _requests.Count > 0, _manager.Now))
            Output.EndWhenSent(scope);
    }

    /// <summary>A request has ended that never ran to its end: the connection is closed if it was the last.</summary>
    private void CloseIfIdle(ConnectionScope scope, bool keepConnection)
    {
        if (!keepConnection)
            _lifetime.CloseAfterLast();
        if (_requests.Count == 0 && _lifetime.Phase == ConnectionPhase.Closing)
            Output.EndWhenSent(scope);
    }
}
