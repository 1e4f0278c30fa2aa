using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Connections;

/// <content>What happens to a connection by the clock, and at the end of the server.</content>
internal sealed partial class FastCgiConnection
{
    /// <summary>When there was a request on the connection, by the clock of the manager.</summary>
    public long LastUse => _requestCount == 0 ? 0 : HasRequests ? _manager.Now : _idleSince;

    /// <summary>Looks at the deadlines; called every second or so.</summary>
    public void OnTick()
    {
        var now = _manager.Now;
        var ready = new ReadyRequests();
        var isOverdue = false;
        lock (Output.Lock)
        {
            var limits = _server.Options.Limits;
            if (_halfOpenCount > 0)
                RejectOverdue(now, limits.RequestParametersTimeout, ref ready);

            if (_isReceivePaused && _server.Time.GetElapsedTime(_pausedSince, now) >= limits.UnreadBodyTimeout)
                EndPause();

            LeaveIfIdle(now, limits.KeepAliveTimeout);
            isOverdue = _drainSince != 0 && _server.Time.GetElapsedTime(_drainSince, now) >= limits.DrainTimeout;
        }

        // Rejected requests only: none of them runs the application.
        while (!ready.IsEmpty)
            ready.RemoveFirst().Execute();
        ResumeReceiving();
        Output.Flush();
        if (isOverdue)
            _transport.Reset();
    }

    /// <summary>
    /// The server stops: the connection is closed behind the answer to the last of its requests, or, if it is idle, to one more; but
    /// not later than when it has been idle for the grace.
    /// </summary>
    public void Stop()
    {
        lock (Output.Lock)
            LeaveIfIdle(_manager.Now, limit: null);
        Output.Flush();
    }

    /// <summary>The server does not wait any longer.</summary>
    public void Abort()
    {
        _server.Log.ConnectionAborted(Id);
        _transport.Reset();
    }

    private void RejectOverdue(long now, TimeSpan timeout, ref ReadyRequests ready)
    {
        foreach (var request in _requests.ToList())
        {
            if (request.HasAllParameters || _server.Time.GetElapsedTime(request.BeganAt, now) < timeout)
                continue;

            request.Reject(RequestRejection.ParametersTimeout);
            _isClosing = true;
            MakeReady(request, ref ready);
        }
    }

    /// <summary>
    /// A body that is not read has kept others waiting, if there are any: they may be behind it, in what was not received. A connection
    /// that has carried one request at a time so far is looked at further, within bounds, and where nothing comes it waits as long as
    /// the application does.
    /// </summary>
    private void EndPause()
    {
        if (_isShared)
            RefuseUnreadBodies();
        else if (_requests.ToList() is [{ KeepConnection: true }])
            _surplus = MaxSurplus;
    }

    private void RefuseUnreadBodies()
    {
        _surplus = 0;
        foreach (var request in _requests.ToList())
        {
            if (request.UnreadBodyLength > BodyWindow)
                request.RefuseBody();
        }
    }

    /// <summary>Closes the connection if it has been idle for the limit, or, when the server stops, for the grace.</summary>
    private void LeaveIfIdle(long now, TimeSpan? limit)
    {
        if (_requests.Count > 0 || _isClosing)
            return;

        var idle = _server.Time.GetElapsedTime(_idleSince, now);
        if (!(idle >= limit) && !(_manager.IsStopping && idle >= _manager.IdleGrace))
            return;

        _isClosing = true;
        _isLeaving = true;
        CloseIfIdle();
    }
}
