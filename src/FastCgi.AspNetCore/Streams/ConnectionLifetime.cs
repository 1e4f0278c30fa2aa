namespace FastCgi.AspNetCore.Streams;

internal enum ConnectionPhase : byte
{
    Open,

    /// <summary>The connection closes after the last response.</summary>
    Closing,

    /// <summary>The connection is idle and about to close, but a request that arrives first is still served.</summary>
    Leaving,

    /// <summary>The connection has failed: the next record makes the web server detect an error.</summary>
    Cutting,

    /// <summary>The server sends nothing more and discards input, within limits, until the web server closes.</summary>
    Draining,

    /// <summary>The connection is about to be reset: nothing more is sent or parsed.</summary>
    Resetting,

    Closed,
}

internal enum CloseAction : byte
{
    None,

    /// <summary>Close the connection: the web server neither expects nor sends anything more.</summary>
    Close,

    Reset,

    /// <summary>Determine whether there is input, and ask again: the connection is idle and about to close.</summary>
    CheckInput,

    /// <summary>Send nothing more, but keep receiving: the response in delivery would be lost.</summary>
    HalfClose,
}

internal enum RequestEnding : byte
{
    Complete,

    /// <summary>
    /// Like Complete, plus an empty management record, because the connection closes against the web server's wish: the
    /// close may be too late for its next request, but it does not reuse a connection after unexpected data.
    /// </summary>
    CompleteWithCloseNotice,

    /// <summary>Only END_REQUEST with appStatus 1, because the connection must deliver other responses.</summary>
    CutByEndRequest,

    /// <summary>
    /// Bytes that web servers treat as an error (<see cref="ProtocolConstants.CutMark"/>), then a close. To nginx, a
    /// close alone means the end of a response without Content-Length.
    /// </summary>
    CutByClose,

    /// <summary>A reset, which the web server detects as an error.</summary>
    CutByReset,
}

/// <summary>
/// The only place that decides when and how a connection ends: Open → Closing or Leaving → Draining → Closed; if it
/// fails, through Cutting or Resetting. A mutable struct: do not copy it.
/// </summary>
internal struct ConnectionLifetime
{
    // The maximum input to discard from a peer that keeps sending after its last response.
    private const long MaxDrainLength = 64 * 1024 * 1024;

    // The time since which the peer should close or accept the end of a cut response, if it should.
    private long? _endingSince;
    private long _drainedLength;
    private bool _dropsInput;
    private bool _awaitsDelivery;

    // Whether all requests that have left had their complete input, so that no later input can cause a reset.
    private bool? _isInputComplete;

    public ConnectionPhase Phase { get; private set; }
    public long IdleSince { get; private set; }

    public readonly bool IsOver => Phase is ConnectionPhase.Resetting or ConnectionPhase.Closed;

    /// <summary>Whether input is discarded, within the limit of <see cref="OnDrained"/>.</summary>
    public readonly bool DropsInput => _dropsInput || Phase is ConnectionPhase.Cutting or ConnectionPhase.Draining;

    /// <summary>Whether it is leaving or draining, so that no handler waits for its output.</summary>
    public readonly bool IsEnding => Phase is ConnectionPhase.Leaving or ConnectionPhase.Draining;

    public void Begin(long now) => IdleSince = now;

    /// <returns>Whether the request is accepted. If not, the connection closes after the last response.</returns>
    public bool TryBeginRequest(bool hasRequests)
    {
        // A web server that begins another request has sent the previous ones.
        if (!hasRequests)
            _isInputComplete = null;
        if (Phase != ConnectionPhase.Leaving)
            return Phase == ConnectionPhase.Open || (Phase == ConnectionPhase.Closing && hasRequests);

        Phase = ConnectionPhase.Closing;
        return true;
    }

    public void CloseAfterLast()
    {
        if (Phase == ConnectionPhase.Open)
            Phase = ConnectionPhase.Closing;
    }

    /// <summary>Called if the input is not FastCGI: one response is sent, and nothing more is parsed.</summary>
    public void CloseAfterRefusal()
    {
        CloseAfterLast();
        _dropsInput = true;
    }

    /// <summary>Called when a response is complete and its request is about to leave.</summary>
    public RequestEnding OnComplete(bool keepsConnection, bool isStopping, bool isLast)
    {
        if (!keepsConnection || isStopping)
            CloseAfterLast();
        return isLast && keepsConnection && Phase == ConnectionPhase.Closing
            ? RequestEnding.CompleteWithCloseNotice
            : RequestEnding.Complete;
    }

    /// <summary>Called when a request leaves with an incomplete response: the application or server failed.</summary>
    /// <param name="harmsOthers">Whether closing the connection would destroy other responses.</param>
    /// <param name="canReset">Whether the peer sees a reset as an error, not as the end.</param>
    /// <param name="cutsSend">Whether to drop the rest of the current send.</param>
    public RequestEnding OnCut(bool harmsOthers, bool canReset, bool cutsSend, long now)
    {
        if (harmsOthers)
            return RequestEnding.CutByEndRequest;

        if (canReset || cutsSend)
        {
            TryFail(mustCut: !canReset, now);
            return canReset ? RequestEnding.CutByReset : RequestEnding.CutByClose;
        }

        CloseAfterLast();
        _endingSince = now;
        return RequestEnding.CutByClose;
    }

    /// <summary>Called when a request has left the table and its ending, if any, is queued.</summary>
    /// <returns>Whether to close the connection after the queued output.</returns>
    public bool OnRequestLeft(bool isInputOver, bool hasRequests, long now)
    {
        _isInputComplete = isInputOver && _isInputComplete != false;
        if (hasRequests)
            return false;

        IdleSince = now;
        return Phase is ConnectionPhase.Closing or ConnectionPhase.Cutting;
    }

    public bool TryLeave()
    {
        if (Phase != ConnectionPhase.Open)
            return false;

        Phase = ConnectionPhase.Leaving;
        return true;
    }

    /// <summary>Ends a failed connection. Call it again if the record of a cut cannot be sent.</summary>
    /// <param name="mustCut">Whether a response would look complete without the record of a cut.</param>
    public bool TryFail(bool mustCut, long now)
    {
        if (IsOver)
            return false;

        var canCut = Phase is not (ConnectionPhase.Cutting or ConnectionPhase.Draining);
        Phase = mustCut && canCut ? ConnectionPhase.Cutting : ConnectionPhase.Resetting;
        _endingSince = now;
        return true;
    }

    public void OnClosed() => Phase = ConnectionPhase.Closed;

    /// <param name="isIdle">Whether nothing is queued or being sent, and there is no request.</param>
    /// <param name="isUndelivered">Whether the system holds output that a reset would lose.</param>
    /// <param name="canWait">Whether the connection may wait for the delivery. If not, the system delivers.</param>
    /// <param name="hasNoInput">Whether the transport has found that there is no input.</param>
    public CloseAction Decide(bool isIdle, bool isUndelivered, bool canWait, bool hasNoInput, long now)
    {
        var awaitsDelivery = isUndelivered && canWait;
        switch (Phase)
        {
            case ConnectionPhase.Resetting:
                return CloseAction.Reset;
            // With TCP, the close is a reset: nginx retries a request on a reset connection.
            case ConnectionPhase.Leaving when isIdle && !isUndelivered && hasNoInput:
                TryFail(mustCut: false, now);
                return CloseAction.Close;
            case ConnectionPhase.Leaving when isIdle && !isUndelivered:
                return CloseAction.CheckInput;
            // The caller asks again: a next request is still served meanwhile.
            case ConnectionPhase.Leaving when isIdle && canWait:
                return CloseAction.None;
            case ConnectionPhase.Leaving or ConnectionPhase.Closing or ConnectionPhase.Cutting when isIdle:
                Phase = ConnectionPhase.Draining;
                _endingSince = now;
                _awaitsDelivery = awaitsDelivery && _isInputComplete == true;
                return _isInputComplete == true && !awaitsDelivery ? CloseAction.Close : CloseAction.HalfClose;
            case ConnectionPhase.Draining when _awaitsDelivery && !awaitsDelivery:
                _awaitsDelivery = false;
                return CloseAction.Close;
            default:
                return CloseAction.None;
        }
    }

    /// <returns>Whether to keep receiving. If not, the connection must be reset.</returns>
    public bool OnDrained(int length, long now)
    {
        OnPeerActive(now);
        return (_drainedLength += length) <= MaxDrainLength;
    }

    /// <summary>Called when a peer that is about to close still sends, or still takes the response.</summary>
    public void OnPeerActive(long now)
    {
        if (Phase == ConnectionPhase.Draining)
            _endingSince = now;
    }

    /// <summary>Whether the peer has neither closed nor accepted the end of a cut response in time.</summary>
    public readonly bool IsEndOverdue(TimeProvider time, long now, TimeSpan timeout)
        => _endingSince is { } since && time.GetElapsedTime(since, now) >= timeout;
}
