using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>How far a connection has come to its end.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>It takes requests.</summary>
    Open,

    /// <summary>It is closed after the answer to the last of its requests.</summary>
    Closing,

    /// <summary>It is idle and about to be closed, though the web server may be about to use it: a request that comes first is answered.</summary>
    Leaving,

    /// <summary>The server sends nothing more, and drops what it receives until the web server closes too, within bounds.</summary>
    Draining,

    /// <summary>It is about to be reset: nothing more is sent or looked at.</summary>
    Resetting,

    /// <summary>It is closed, or about to be.</summary>
    Closed,
}

/// <summary>What a transport is to do with a connection.</summary>
internal enum EndAction : byte
{
    /// <summary>Nothing: the connection lives on.</summary>
    None,

    /// <summary>Close it: the web server expects nothing more, and sends nothing more.</summary>
    Close,

    /// <summary>Reset it, so that the web server sees an error.</summary>
    Reset,

    /// <summary>
    /// Reset it, unless something is to be received: that is answered first. By the reset, a web server that takes up the connection in
    /// this instant learns that it did so in vain before it has sent anything; nginx then repeats the request, whatever its method.
    /// </summary>
    ResetUnlessInput,

    /// <summary>Send nothing more, and receive on. A reset would destroy the answer that is under way.</summary>
    HalfClose,
}

/// <summary>How a request leaves its connection on the wire.</summary>
internal enum RequestEnding : byte
{
    /// <summary>With the end of STDOUT and END_REQUEST.</summary>
    Complete,

    /// <summary>
    /// The same, and a farewell, because the connection is closed although the web server means to keep it. The close comes
    /// too late for a web server that sends the next request at once; but one that finds anything after END_REQUEST does not use the
    /// connection again: here, an empty record of management.
    /// </summary>
    CompleteWithFarewell,

    /// <summary>Without the end of STDOUT: END_REQUEST with appStatus 1, because the connection has other answers to deliver.</summary>
    CutByEndRequest,

    /// <summary>
    /// Without the end of STDOUT, and the connection is closed: a close alone looks to nginx like the end of a response without
    /// Content-Length, but a record that only a web server sends (ABORT_REQUEST) is an error to all front-ends.
    /// </summary>
    CutByClose,

    /// <summary>The connection is reset, which the web server sees as an error.</summary>
    CutByReset,
}

/// <summary>
/// Decides alone when and how a connection ends: Open → Closing or Leaving → Draining → Closed, or Resetting → Closed from each of them. It
/// is told what happens, and answers what is to be done; the connection and its transport carry it out. Pure. A mutable struct: keep it
/// in a field, do not copy it.
/// </summary>
internal struct ConnectionLifetime
{
    // What is read and dropped of a peer that goes on sending after its last answer.
    private const long MaxDrainLength = 64 * 1024 * 1024;

    private long _drainSince;
    private long _drainedLength;
    private bool _dropsInput;

    // Whether the requests that have left had all of their input, so that nothing more comes that a reset would answer.
    private bool? _isInputComplete;

    public ConnectionPhase Phase { get; private set; }

    /// <summary>When the last request left the connection, by the clock of its manager.</summary>
    public long IdleSince { get; private set; }

    /// <summary>Whether nothing more is sent or looked at.</summary>
    public readonly bool IsOver => Phase >= ConnectionPhase.Resetting;

    /// <summary>Whether what is received is dropped, within the bounds of <see cref="OnDrained"/>.</summary>
    public readonly bool DropsInput => _dropsInput || Phase == ConnectionPhase.Draining;

    public void Begin(long now) => IdleSince = now;

    /// <summary>BEGIN_REQUEST has come.</summary>
    /// <param name="hasRequests">Whether requests live on the connection.</param>
    /// <returns>Whether the request is taken; if not, the last answer is on its way, and the connection is closed after it.</returns>
    public bool TryBeginRequest(bool hasRequests)
    {
        switch (Phase)
        {
            case ConnectionPhase.Open:
                return true;
            case ConnectionPhase.Leaving:
                Phase = ConnectionPhase.Closing;
                return true;
            default:
                return Phase == ConnectionPhase.Closing && hasRequests;
        }
    }

    /// <summary>The connection is closed after the answer to the last of its requests.</summary>
    public void CloseAfterLast()
    {
        if (Phase == ConnectionPhase.Open)
            Phase = ConnectionPhase.Closing;
    }

    /// <summary>What was received is no FastCGI: one answer is sent, and nothing more is looked at.</summary>
    public void CloseAfterRefusal()
    {
        CloseAfterLast();
        _dropsInput = true;
    }

    /// <summary>A response is complete, and its request about to leave.</summary>
    /// <param name="keepsConnection">Whether the web server means to keep the connection.</param>
    /// <param name="isStopping">Whether the server stops.</param>
    /// <param name="isLast">Whether no other request lives on the connection.</param>
    public RequestEnding OnComplete(bool keepsConnection, bool isStopping, bool isLast)
    {
        if (!keepsConnection || isStopping)
            CloseAfterLast();
        return isLast && keepsConnection && Phase == ConnectionPhase.Closing ? RequestEnding.CompleteWithFarewell : RequestEnding.Complete;
    }

    /// <summary>A request leaves with a response that is cut, or without one, because the application or this server has failed.</summary>
    /// <param name="harmsOthers">Whether the connection has other answers to deliver, which its end would destroy.</param>
    /// <param name="canReset">Whether a reset is seen by the peer as an error, and not as the end.</param>
    /// <param name="canSend">Whether a record can be sent before the connection is closed.</param>
    public RequestEnding OnCut(bool harmsOthers, bool canReset, bool canSend)
    {
        if (harmsOthers)
            return RequestEnding.CutByEndRequest;

        if (canReset || !canSend)
        {
            TryReset();
            return RequestEnding.CutByReset;
        }

        CloseAfterLast();
        return RequestEnding.CutByClose;
    }

    /// <summary>A request has left the table, and its end, if it has one, is queued.</summary>
    /// <param name="isInputOver">Whether the end of its input has come.</param>
    /// <param name="hasRequests">Whether requests live on the connection.</param>
    /// <returns>Whether the connection is to be closed after what is queued.</returns>
    public bool OnRequestLeft(bool isInputOver, bool hasRequests, long now)
    {
        _isInputComplete = isInputOver && _isInputComplete != false;
        if (hasRequests)
            return false;

        IdleSince = now;
        return Phase == ConnectionPhase.Closing;
    }

    /// <summary>The connection is idle for too long, or the server stops.</summary>
    /// <returns>Whether the connection is to be closed after what is queued.</returns>
    public bool TryLeave()
    {
        if (Phase != ConnectionPhase.Open)
            return false;

        Phase = ConnectionPhase.Leaving;
        return true;
    }

    /// <summary>The connection cannot go on: for a protocol error, a deadline, the end of the server's patience, or a failure of the transport.</summary>
    /// <returns>Whether this call decided that.</returns>
    public bool TryReset()
    {
        if (IsOver)
            return false;

        Phase = ConnectionPhase.Resetting;
        return true;
    }

    public void OnClosed() => Phase = ConnectionPhase.Closed;

    /// <summary>What the transport is to do now.</summary>
    /// <param name="isIdle">Whether nothing is queued or being sent, and no request lives on the connection.</param>
    public EndAction Decide(bool isIdle, long now)
    {
        switch (Phase)
        {
            case ConnectionPhase.Resetting:
                return EndAction.Reset;
            case ConnectionPhase.Leaving when isIdle:
                return EndAction.ResetUnlessInput;
            case ConnectionPhase.Closing when isIdle:
                Phase = ConnectionPhase.Draining;
                _drainSince = now;
                return _isInputComplete == true ? EndAction.Close : EndAction.HalfClose;
            default:
                return EndAction.None;
        }
    }

    /// <summary>The transport has looked for input of a connection that is leaving, and found none.</summary>
    /// <returns>Whether to reset it; if not, a request has come all the same.</returns>
    public bool TryEndLeaving() => Phase == ConnectionPhase.Leaving && TryReset();

    /// <summary>Bytes have come after the last answer.</summary>
    /// <returns>Whether to receive on; if not, the connection must be reset.</returns>
    public bool OnDrained(int length) => (_drainedLength += length) <= MaxDrainLength;

    /// <summary>Whether the peer has not closed in time, so that the connection is reset.</summary>
    public readonly bool IsDrainOverdue(TimeProvider time, long now, TimeSpan timeout)
        => Phase == ConnectionPhase.Draining && time.GetElapsedTime(_drainSince, now) >= timeout;
}
