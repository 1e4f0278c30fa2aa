namespace FastCgi.AspNetCore.Streams;

/// <content>Timeouts, and the stop of the server.</content>
internal sealed partial class FastCgiConnection
{
    // No handler waits for the delivery of a whole response, and TCP may report it in steps of 100 KB and more.
    private static readonly TimeSpan s_drainGrace = TimeSpan.FromMinutes(5);

    private TimeSpan ParametersTimeout => _server.Options.Limits.RequestParametersTimeout;

    public void OnTick(long since, long now)
    {
        var ready = new ReadyRequests();
        bool isOverdue;
        bool isStuck;
        bool closes;
        using (var scope = EnterLock())
        {
            var limits = _server.Options.Limits;
            CheckRequests(scope, since, now, ref ready);
            closes = CloseIfUnused(scope, now, limits.KeepAliveTimeout);
            // A cut response has a separate deadline.
            var isCutting = scope.State.Lifetime.Phase == ConnectionPhase.Cutting;
            var stall = Output.GetStall(scope, _server.Time, now);
            isStuck = !isCutting && (scope.State.Lifetime.IsEnding
                ? stall - s_drainGrace >= limits.SendTimeout.GetValueOrDefault()
                : stall >= limits.SendTimeout);
            if (stall is not null)
                scope.State.Lifetime.OnPeerActive(now);
            isOverdue = scope.State.Lifetime.IsEndOverdue(_server.Time, now, limits.LingerTimeout)
                || (!isCutting && (IsRecordOverdue(scope, now) || IsUnusedTwiceAsLong(scope, now)));
        }

        if (isStuck)
            ready.Report(() => _manager.OnSendTimeout(Id));
        Run(ref ready);
        ResumeReceiving();
        Output.FlushNow();
        if (closes)
            _transport.Close();
        if (isOverdue || isStuck)
            Fail();
    }

    /// <summary>Closes the connection after its last response; an idle one, after the grace period.</summary>
    public void Stop()
    {
        bool closes;
        using (var scope = EnterLock())
            closes = CloseIfUnused(scope, _manager.Now, limit: null)
                || scope.State.Lifetime.Phase == ConnectionPhase.Draining;
        if (closes)
            _transport.Close();
        else
            Output.FlushNow();
    }

    public void Abort()
    {
        ThreadRoot.Report(_server.Log, log => log.ConnectionAborted(Id));
        bool isBeingCut;
        using (var scope = EnterLock())
            isBeingCut = scope.State.Lifetime.Phase == ConnectionPhase.Cutting;
        if (!isBeingCut)
            Fail();
    }

    private void CheckRequests(ConnectionScope scope, long since, long now, ref ReadyRequests ready)
    {
        var time = _server.Time;
        var limits = _server.Options.Limits;
        var slowThreshold = _server.Options.SlowRequestThreshold;
        // For bodies that block other requests. Without multiplexing, they block none.
        var refusesUnread = _isReceivePaused && scope.State.IsMultiplexed
            && time.GetElapsedTime(scope.State.PausedSince, now) >= limits.UnreadBodyTimeout;
        foreach (var request in scope.State.Requests.Values)
        {
            var age = time.GetElapsedTime(request.BeganAt, now);
            if (!request.HasAllParameters && IsInputOverdue(scope, request.BeganAt, now))
            {
                request.Reject(RequestRejection.ParametersTimeout);
                scope.State.Lifetime.CloseAfterLast();
                MakeReady(scope, request, ref ready);
            }

            if (refusesUnread && request.UnreadBodyLength > BodyWindow)
                request.RefuseBody(scope, missed: null, ref ready);
            request.FailIfSlow(scope, now, _isReceivePaused, ref ready);
            if (age >= slowThreshold && time.GetElapsedTime(request.BeganAt, since) < slowThreshold)
                request.OnSlow(request.Describe(scope, time.GetTimestamp()), ref ready);
        }
    }

    private bool IsRecordOverdue(ConnectionScope scope, long now)
        => scope.State.PartialContent.Length > 0 && scope.State.Requests.Count == 0 && !IsInRecord(scope, now);

    /// <summary>Whether a record that may be the next request is being received and is not overdue.</summary>
    private bool IsInRecord(ConnectionScope scope, long now)
    {
        var since = Math.Max(scope.State.RecordSince, scope.State.Lifetime.IdleSince);
        return scope.State.Reader.IsInRecord && !IsInputOverdue(scope, since, now);
    }

    /// <summary>Whether the rest of a request is late, although the server has received all the time.</summary>
    private bool IsInputOverdue(ConnectionScope scope, long since, long now) => !_isReceivePaused
        && _server.Time.GetElapsedTime(Math.Max(since, scope.State.ResumedAt), now) >= ParametersTimeout;

    /// <summary>Whether input other than requests, such as endless GET_VALUES, has prevented the close.</summary>
    private bool IsUnusedTwiceAsLong(ConnectionScope scope, long now)
        => scope.State.RequestCount == 0
            && _server.Time.GetElapsedTime(scope.State.Lifetime.IdleSince, now) / 2 >= ParametersTimeout;

    /// <returns>Whether the caller must close the transport without the lock: nothing is left to send.</returns>
    private bool CloseIfUnused(ConnectionScope scope, long now, TimeSpan? limit)
    {
        if (scope.State.Requests.Count > 0 || IsInRecord(scope, now))
            return false;

        var idle = _server.Time.GetElapsedTime(scope.State.Lifetime.IdleSince, now);
        var isUnused = scope.State.RequestCount == 0 && idle >= ParametersTimeout;
        // The connection may have become idle up to one interval after that tick.
        var surelyIdle = idle - ServerClock.Interval;
        var grace = _server.Options.Limits.ShutdownIdleGracePeriod;
        var isIdle = surelyIdle >= limit
            || (_manager.IsStopping && (surelyIdle >= grace || grace == TimeSpan.Zero));
        // A connection that is already leaving had input that was not a request.
        var leaves = (isUnused || isIdle) && scope.State.Lifetime.TryLeave();
        if (!leaves && scope.State.Lifetime.Phase != ConnectionPhase.Leaving)
            return false;
        if (scope.State.Output.IsIdle)
            return true;

        Output.CloseWhenSent(scope);
        return false;
    }
}
