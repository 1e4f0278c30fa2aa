namespace FastCgi.AspNetCore.Streams;

/// <content>How requests leave the connection, and how the connection ends: each in one step under the lock.</content>
internal sealed partial class FastCgiConnection
{
    // The receive buffer of a peer that reads nothing takes at least this.
    private const int MinReceiveBuffer = 32 * 1024;

    private const int MaxEndingLength = ProtocolConstants.HeaderLength + RecordWriter.FixedRecordLength
        + ProtocolConstants.HeaderLength;

    /// <summary>Removes a request from the table, appends the suitable ending, and queues everything.</summary>
    /// <param name="status">The status in END_REQUEST; <see langword="null"/> to cut the response.</param>
    /// <param name="sends">Whether to collect output to send now.</param>
    /// <returns>The output to send without the lock. If the connection is over, also close the transport.</returns>
    public BufferBlock? Complete(
        ConnectionScope scope, RequestStream request, BufferChain records, ProtocolStatus? status, bool sends)
    {
        if (!TryRemove(scope, request, status is null ? RequestPhase.Incomplete : RequestPhase.Complete))
        {
            BufferBlock.ReturnChain(records.Head);
            return null;
        }

        var ending = status is null
            ? DecideCut(scope, request, cutsSend: false)
            : scope.State.Lifetime.OnComplete(
                request.KeepConnection, _manager.IsStopping, isLast: scope.State.Requests.Count == 0);
        var written = WriteEnding(
            stackalloc byte[MaxEndingLength], request.Id, ending, status.GetValueOrDefault());
        if (!written.IsEmpty)
            written.CopyTo(records.Write(Output.Pool, written.Length));
        request.QueueLast(scope, records.Head);
        OnRequestLeft(scope, request.IsInputOver);
        return sends ? Output.Collect(scope) : null;
    }

    /// <summary>Aborts a request: the client sees an incomplete response, and other responses are not harmed.</summary>
    public bool TryAbort(RequestStream request, Exception reason)
    {
        RequestEnding ending;
        var ready = new ReadyRequests();
        using (var scope = EnterLock())
        {
            if (!request.HasAllParameters || !TryDrop(scope, request, AbortCause.Application, reason, ref ready))
                return false;

            ending = DecideCut(scope, request, cutsSend: !scope.State.Output.IsIdle);
            if (ending == RequestEnding.CutByClose)
                Output.CutSend(scope);
            Output.WriteControl(
                scope, WriteEnding(stackalloc byte[MaxEndingLength], request.Id, ending, status: default));
            OnRequestLeft(scope, request.IsInputOver);
        }

        if (ending == RequestEnding.CutByReset)
            _transport.Close();
        else if (ending == RequestEnding.CutByClose)
            _transport.CutSend();
        Output.FlushNow();
        Run(ref ready);
        ResumeReceiving();
        return true;
    }

    /// <summary>
    /// Ends the connection and its requests. The peer sees an error: a reset or, where a reset looks like the end of
    /// the response, bytes that are no record. If they cannot be sent in time, this is called again.
    /// </summary>
    /// <param name="canSend">Whether the peer can parse further records, because no bytes were lost.</param>
    public void Fail(bool canSend = true)
    {
        bool isCut;
        var ready = new ReadyRequests();
        using (var scope = EnterLock())
        {
            var mustCut = canSend && !CanReset(scope) && (HasStarted(scope) || !scope.State.Output.IsIdle);
            if (!scope.State.Lifetime.TryFail(mustCut, _manager.Now))
                return;

            // Now, not when the transport acts: no handler may believe that its output until then is sent.
            DropAll(scope, AbortCause.Server, error: null, ref ready);
            isCut = scope.State.Lifetime.Phase == ConnectionPhase.Cutting;
            if (isCut)
            {
                // Also for responses that are complete, but not sent.
                RecordOutput.DropQueued(scope);
                Output.CutSend(scope);
                Output.WriteControl(scope, ProtocolConstants.CutMark);
                Output.CloseWhenSent(scope);
            }
        }

        if (isCut)
        {
            _transport.CutSend();
            Output.FlushNow();
        }
        else
        {
            _transport.Close();
        }

        Run(ref ready);
    }

    public void Run(ref ReadyRequests ready)
    {
        if (ready.HasWork)
            _transport.Run(ref ready);
    }

    public void CloseTransport() => _transport.Close();

    /// <summary>Decides what the transport must do now. Each decision is made once.</summary>
    public CloseAction DecideClose()
    {
        using var scope = EnterLock();
        var isIdle = scope.State.Output.IsIdle;
        var isLeaving = isIdle && scope.State.Lifetime.Phase == ConnectionPhase.Leaving;
        var hasInput = isLeaving ? _transport.HasInput : null;
        if (hasInput == true || (isLeaving && IsInRecord(scope, _manager.Now)))
            return CloseAction.None;

        // Linux resets a closed TCP connection whose peer takes nothing for about five minutes.
        var isUndelivered = (isLeaving || scope.State.Output.SentLength > MinReceiveBuffer)
            && _transport is { CanReset: true, UndeliveredLength: > 0 };
        var action = scope.State.Lifetime.Decide(
            isIdle && scope.State.Requests.Count == 0, isUndelivered, !_manager.IsStopping, hasInput == false,
            _manager.Now);
        // If a request has arrived since, its response is being sent. The transport asks again after that.
        if (action == CloseAction.None && !isIdle)
            Output.CloseWhenSent(scope);
        return action;
    }

    /// <param name="error">The exception that the application's reads throw.</param>
    /// <returns>Whether the transport was to reset it.</returns>
    public bool OnClosed(Exception error)
    {
        var ready = new ReadyRequests();
        bool isReset;
        Totals totals;
        using (var scope = EnterLock())
        {
            if (scope.State.Lifetime.Phase == ConnectionPhase.Closed)
                return false;

            isReset = scope.State.Lifetime.Phase == ConnectionPhase.Resetting;
            scope.State.Lifetime.OnClosed();
            DropAll(scope, AbortCause.ConnectionLost, error, ref ready);
            totals = GetTotals(scope);
            scope.State.PartialContent = default;
            Output.Abandon(scope);
        }

        Run(ref ready);
        _manager.Remove(this, totals);
        return isReset;
    }

    /// <summary>Called when the application returns from a request that left. Callbacks are still pending.</summary>
    public void OnApplicationReturned()
    {
        var left = Interlocked.Decrement(ref _unreturnedCount);
        Invariants.Require(left >= 0, "More applications have returned than requests have begun.");
    }

    public void OnRequestOver()
    {
        if (EndUse())
            _manager.OnOver();
    }

    /// <returns>Whether it was the last use: the transport's, or that of a request.</returns>
    public bool EndUse()
    {
        var left = Interlocked.Decrement(ref _uses);
        Invariants.Require(left >= 0, "A connection was used less than zero times.");
        return left == 0;
    }

    /// <summary>The only way to remove a request from the table.</summary>
    private static bool TryRemove(ConnectionScope scope, RequestStream request, RequestPhase ending)
    {
        if (request.IsDetached)
            return false;

        request.Detach(scope, ending);
        var wasThere = scope.State.Requests.Remove(request.Id);
        Invariants.Require(wasThere, "A request that is not detached is not in the table of its connection.");
        return true;
    }

    private bool TryDrop(
        ConnectionScope scope, RequestStream request, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        var wasHandedOut = request.HasAllParameters;
        if (!TryRemove(scope, request, RequestPhase.Aborted))
            return false;

        if (wasHandedOut)
        {
            request.Abort(scope, cause, error, ref ready);
            _server.Counters.OnRequestAborted(cause);
        }
        else
        {
            // It was never handed to a thread, so no thread will report its end.
            OnApplicationReturned();
            EndUse();
        }

        return true;
    }

    private void DropAll(ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        foreach (var request in scope.State.Requests.Values)
        {
            TryDrop(scope, request, cause, error, ref ready);
            OnRequestLeft(scope, request.IsInputOver);
        }
    }

    private RequestEnding DecideCut(ConnectionScope scope, RequestStream request, bool cutsSend)
    {
        var canReset = CanReset(scope);
        var harmsOthers = scope.State.Requests.Count > 0 || Output.HasOtherResponses(scope, request, canReset);
        var ending = scope.State.Lifetime.OnCut(harmsOthers, canReset, cutsSend, _manager.Now);
        if (ending == RequestEnding.CutByEndRequest && !request.KeepConnection)
            scope.State.Lifetime.CloseAfterLast();
        return ending;
    }

    private bool CanReset(ConnectionScope scope) => _transport.CanReset && scope.State.ForbidsReset != true;

    private static bool HasStarted(ConnectionScope scope)
    {
        foreach (var request in scope.State.Requests.Values)
        {
            if (request.In(scope).HasOutput)
                return true;
        }

        return false;
    }

    private static ReadOnlySpan<byte> WriteEnding(
        Span<byte> destination, ushort id, RequestEnding ending, ProtocolStatus status)
    {
        switch (ending)
        {
            case RequestEnding.Complete or RequestEnding.CompleteWithCloseNotice:
                RecordWriter.WriteHeader(destination, RecordType.Stdout, id, contentLength: 0);
                RecordWriter.WriteEndRequest(destination[ProtocolConstants.HeaderLength..], id, appStatus: 0, status);
                if (ending == RequestEnding.Complete)
                    return destination[..^ProtocolConstants.HeaderLength];

                RecordWriter.WriteHeader(
                    destination[^ProtocolConstants.HeaderLength..], RecordType.GetValuesResult,
                    ProtocolConstants.NullRequestId, contentLength: 0);
                return destination;
            case RequestEnding.CutByEndRequest:
                RecordWriter.WriteEndRequest(destination, id, appStatus: 1, ProtocolStatus.RequestComplete);
                return destination[..RecordWriter.FixedRecordLength];
            case RequestEnding.CutByClose:
                return ProtocolConstants.CutMark;
            default:
                return [];
        }
    }

    private void OnRequestLeft(ConnectionScope scope, bool isInputOver)
    {
        if (scope.State.Lifetime.OnRequestLeft(isInputOver, hasRequests: scope.State.Requests.Count > 0, _manager.Now))
            Output.CloseWhenSent(scope);
    }
}
