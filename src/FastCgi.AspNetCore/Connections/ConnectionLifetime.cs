namespace FastCgi.AspNetCore.Connections;

/// <summary>How far a connection has come to its end.</summary>
internal enum ConnectionPhase : byte
{
    /// <summary>It takes requests.</summary>
    Open,

    /// <summary>It is closed behind the answer to the last of its requests.</summary>
    Closing,

    /// <summary>It is idle and about to be closed, though the web server may be about to use it: a request that comes first is answered.</summary>
    Leaving,

    /// <summary>The server sends nothing more, and drops what it receives until the web server closes too, within bounds.</summary>
    Draining,

    /// <summary>It is gone, or about to be: nothing more is sent or looked at.</summary>
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

/// <summary>
/// Decides alone when and how a connection ends: Open → Closing or Leaving → Draining → Closed. It is told what happens, and answers
/// what the transport is to do; transports only carry it out. Pure; guarded by the lock of the connection. A mutable struct: keep it
/// in a field, do not copy it.
/// </summary>
internal struct ConnectionLifetime
{
    // What is read and dropped of a peer that goes on sending behind its last answer.
    private const long MaxDrainLength = 64 * 1024 * 1024;

    private long _drainSince;
    private long _drainedLength;
    private bool _isInputMissing;
    private bool _isInputComplete;
    private bool _dropsInput;

    /// <summary>The phase.</summary>
    public ConnectionPhase Phase { get; private set; }

    /// <summary>When the last request left the connection, by the clock of its manager.</summary>
    public long IdleSince { get; private set; }

    /// <summary>
    /// Whether the web server has sent all of its requests, so that nothing more comes that a reset could answer, and the connection can be
    /// closed without waiting for it.
    /// </summary>
    public readonly bool IsInputComplete => _isInputComplete;

    /// <summary>Whether what is received is dropped, within the bounds of <see cref="OnDrained"/>.</summary>
    public readonly bool DropsInput => _dropsInput || Phase == ConnectionPhase.Draining;

    /// <summary>Begins.</summary>
    public void Begin(long now) => IdleSince = now;

    /// <summary>BEGIN_REQUEST has come.</summary>
    /// <param name="hasRequests">Whether requests live on the connection.</param>
    /// <returns>Whether the request is taken; if not, the last answer is on its way, and the connection is closed behind it.</returns>
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

    /// <summary>The connection is closed behind the answer to the last of its requests.</summary>
    public void CloseBehindLast()
    {
        if (Phase == ConnectionPhase.Open)
            Phase = ConnectionPhase.Closing;
    }

    /// <summary>What was received is no FastCGI: one answer is sent, and nothing more is looked at.</summary>
    public void CloseBehindRefusal()
    {
        CloseBehindLast();
        _dropsInput = true;
    }

    /// <summary>A request has left the table, and its end, if it has one, is queued.</summary>
    /// <param name="isInputOver">Whether the end of its input has come.</param>
    /// <param name="hasRequests">Whether requests live on the connection.</param>
    /// <param name="now">The time.</param>
    /// <returns>Whether the connection is to be closed behind what is queued.</returns>
    public bool OnRequestLeft(bool isInputOver, bool hasRequests, long now)
    {
        _isInputMissing |= !isInputOver;
        _isInputComplete = !_isInputMissing;
        if (hasRequests)
            return false;

        IdleSince = now;
        return Phase == ConnectionPhase.Closing;
    }

    /// <summary>The connection is idle for too long, or the server stops.</summary>
    /// <returns>Whether the connection is to be closed behind what is queued.</returns>
    public bool TryLeave()
    {
        if (Phase != ConnectionPhase.Open)
            return false;

        Phase = ConnectionPhase.Leaving;
        return true;
    }

    /// <summary>All is sent that stood before the close.</summary>
    /// <param name="hasRequests">Whether requests live on the connection.</param>
    /// <param name="now">The time.</param>
    public EndAction OnAllSent(bool hasRequests, long now)
    {
        if (hasRequests)
            return EndAction.None;

        switch (Phase)
        {
            case ConnectionPhase.Leaving:
                return EndAction.ResetUnlessInput;
            case ConnectionPhase.Closing when !_isInputComplete:
                Phase = ConnectionPhase.Draining;
                _drainSince = now;
                return EndAction.HalfClose;
            case ConnectionPhase.Closing:
                Phase = ConnectionPhase.Closed;
                return EndAction.Close;
            default:
                return EndAction.None;
        }
    }

    /// <summary>The transport has looked for input of a connection that is leaving, and found none.</summary>
    /// <returns>Whether to reset it; if not, a request has come all the same.</returns>
    public bool TryEndLeaving() => Phase == ConnectionPhase.Leaving && TryClose();

    /// <summary>Bytes have come behind the last answer.</summary>
    /// <returns>Whether to receive on; if not, the connection is reset.</returns>
    public bool OnDrained(int length) => (_drainedLength += length) <= MaxDrainLength;

    /// <summary>Whether the peer has not closed in time, so that the connection is reset.</summary>
    public readonly bool IsDrainOverdue(TimeProvider time, long now, TimeSpan timeout)
        => Phase == ConnectionPhase.Draining && time.GetElapsedTime(_drainSince, now) >= timeout;

    /// <summary>The connection is reset, or gone.</summary>
    /// <returns>Whether this call did it.</returns>
    public bool TryClose()
    {
        if (Phase == ConnectionPhase.Closed)
            return false;

        Phase = ConnectionPhase.Closed;
        return true;
    }
}
