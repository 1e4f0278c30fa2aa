using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Connections;

/// <content>How requests leave the connection, and how the connection ends: each in one step with the lock held.</content>
internal sealed partial class FastCgiConnection
{
    /// <inheritdoc/>
    public override ResponseEnd OnRequestEnding(FastCgiRequest request, bool isComplete)
    {
        if (!TryTakeOut(request, isComplete ? RequestPhase.Ended : RequestPhase.Cut))
            return ResponseEnd.None;

        _surplus = 0;
        if (isComplete)
            Interlocked.Increment(ref _unsentCount);
        if (isComplete && (!request.KeepConnection || _manager.IsStopping))
            _lifetime.CloseBehindLast();

        var isAlone = _requests.Count == 0;
        if (!isComplete && isAlone)
        {
            if (_transport.CanReset)
                return ResponseEnd.CutByReset;

            _lifetime.CloseBehindLast();
        }

        OnRequestLeft(request.Input.IsOver);
        if (!isComplete)
            return isAlone ? ResponseEnd.CutByClose : ResponseEnd.CutByEndRequest;

        return isAlone && _lifetime.Phase == ConnectionPhase.Closing && request.KeepConnection ? ResponseEnd.CompleteWithFarewell : ResponseEnd.Complete;
    }

    /// <inheritdoc/>
    public override bool TryAbort(FastCgiRequest request, int generation, Exception reason)
    {
        var resets = false;
        using (Output.EnterLock())
        {
            // The object may have been given to another request, of this or of another connection.
            if (_requests.Find(request.Id) != request || request.Generation != generation || !request.HasAllParameters)
                return false;

            Drop(request, reason, AbortCause.Application);
            var isAlone = _requests.Count == 0;
            if (!isAlone)
                Output.WriteEndRequest(request.Id, appStatus: 1, ProtocolStatus.RequestComplete);
            else if (!_transport.CanReset && Output.IsIdle)
                CutByRecord(request.Id);
            else
                resets = true;
        }

        if (resets)
            Reset();
        else
            Output.FlushNow();
        ResumeReceiving();
        return true;
    }

    /// <inheritdoc/>
    public override void Reset()
    {
        using (Output.EnterLock())
        {
            _lifetime.TryClose();
            // Now, not when the transport comes to it: what is written until then is lost, and no handler may take its response for sent.
            foreach (var request in _requests.ToList())
            {
                if (request.HasAllParameters)
                    Drop(request, new ConnectionAbortedException("The connection was closed by the server."), AbortCause.Server);
            }
        }

        _transport.Reset();
    }

    /// <summary>Asked by the transport when all is sent that stood before the close.</summary>
    public EndAction DecideEnd()
    {
        using (Output.EnterLock())
        {
            if (Output.IsIdle)
                return _lifetime.OnAllSent(hasRequests: _requests.Count > 0, _manager.Now);

            // A request has come since, and its answer is being sent: the transport is told again behind it.
            Output.CloseWhenSent();
            return EndAction.None;
        }
    }

    /// <inheritdoc cref="ConnectionLifetime.TryEndLeaving"/>
    public bool TryEndLeaving()
    {
        using (Output.EnterLock())
            return _lifetime.TryEndLeaving();
    }

    /// <inheritdoc/>
    public override void OnRequestReleased(FastCgiRequest request)
    {
        if (Invariants.AreChecked)
            Invariants.Require(!request.State.IsInTable, "A request that is over has not left its connection.");

        if (request.State.Phase == RequestPhase.Ended)
        {
            Interlocked.Decrement(ref _unsentCount);
            ResumeReceiving();
            return;
        }

        using (Output.EnterLock())
            _lingeringCount--;
    }

    /// <inheritdoc/>
    public override void OnBodyConsumed() => ResumeReceiving();

    /// <summary>Takes a request that nobody waits for off the connection.</summary>
    private void Drop(FastCgiRequest request, Exception reason, AbortCause cause)
    {
        if (!request.HasAllParameters)
        {
            _requests.Remove(request);
            _halfOpenCount--;
            request.Forget();
            OnRequestLeft(isInputOver: false);
        }
        else if (TryTakeOut(request, RequestPhase.Aborted))
        {
            if (cause is AbortCause.WebServer or AbortCause.ConnectionLost)
                request.CountGivenUp();
            request.OnAborted(reason);
            _server.Counters.OnRequestAborted(cause);
            OnRequestLeft(request.Input.IsOver);
        }
    }

    /// <summary>Where nobody sees a reset, a record that only a web server sends shows that the response is cut.</summary>
    private void CutByRecord(ushort id)
    {
        _lifetime.CloseBehindLast();
        RecordWriter.WriteHeader(Output.WriteControl(ProtocolConstants.HeaderLength), RecordType.AbortRequest, id, contentLength: 0);
        Output.CloseWhenSent();
    }

    private void OnRequestLeft(bool isInputOver)
    {
        if (_lifetime.OnRequestLeft(isInputOver, hasRequests: _requests.Count > 0, _manager.Now))
            Output.CloseWhenSent();
    }

    /// <summary>The one way of a running request out of the table.</summary>
    private bool TryTakeOut(FastCgiRequest request, RequestPhase how)
    {
        if (!request.State.TryLeave(how))
            return false;

        var wasThere = _requests.Remove(request);
        if (Invariants.AreChecked)
            Invariants.Require(wasThere, "A running request is not in the table of its connection.");
        if (how != RequestPhase.Ended)
            _lingeringCount++;
        return true;
    }

    /// <summary>A request has ended that never ran to its end: the connection is closed if it was the last.</summary>
    private void CloseIfIdle(bool keepConnection)
    {
        if (!keepConnection)
            _lifetime.CloseBehindLast();
        if (_requests.Count == 0 && _lifetime.Phase == ConnectionPhase.Closing)
            Output.CloseWhenSent();
    }
}
