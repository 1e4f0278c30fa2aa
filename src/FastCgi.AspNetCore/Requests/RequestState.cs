namespace FastCgi.AspNetCore.Requests;

/// <summary>How far a request has come, and how it left its connection.</summary>
internal enum RequestPhase : byte
{
    /// <summary>The object is in the pool.</summary>
    Pooled,

    /// <summary>In the connection's table; the params are on their way.</summary>
    Receiving,

    /// <summary>In the connection's table; the application works on it, or is about to.</summary>
    Running,

    /// <summary>Left with END_REQUEST behind the whole response.</summary>
    Ended,

    /// <summary>Left because the web server or the application aborted it, or because the connection is gone: nothing more is sent.</summary>
    Aborted,

    /// <summary>Left with a response that is cut.</summary>
    Cut,
}

/// <summary>
/// The phases of a request, and the only steps between them: in the table, then out of it in exactly one way, then in the pool. A
/// step is taken with the lock of the connection held, together with the change of its table; phases are read without it. A mutable
/// struct: keep it in a field, do not copy it.
/// </summary>
internal struct RequestState
{
    private volatile RequestPhase _phase;

    /// <summary>The phase.</summary>
    public readonly RequestPhase Phase => _phase;

    /// <summary>Whether the request is in the table of its connection.</summary>
    public readonly bool IsInTable => Phase is RequestPhase.Receiving or RequestPhase.Running;

    /// <summary>BEGIN_REQUEST has come.</summary>
    public void Begin() => Step(RequestPhase.Pooled, RequestPhase.Receiving);

    /// <summary>All params have come, or all that are looked at.</summary>
    public void Run() => Step(RequestPhase.Receiving, RequestPhase.Running);

    /// <summary>The request leaves the table, if it is running.</summary>
    /// <param name="how">Ended, aborted or cut.</param>
    /// <returns>Whether this call did it: whoever comes later does nothing.</returns>
    public bool TryLeave(RequestPhase how)
    {
        if (_phase != RequestPhase.Running)
            return false;

        _phase = how;
        return true;
    }

    /// <summary>The request goes into the pool: it has left the table, or its params never came to an end.</summary>
    /// <exception cref="InvalidOperationException">The request is running, or in the pool.</exception>
    public void Retire()
    {
        if (_phase is RequestPhase.Pooled or RequestPhase.Running)
            throw new InvalidOperationException($"A request that is {_phase} cannot be put into the pool.");

        _phase = RequestPhase.Pooled;
    }

    private void Step(RequestPhase from, RequestPhase to)
    {
        if (_phase != from)
            throw new InvalidOperationException($"A request that is {_phase} cannot become {to}.");

        _phase = to;
    }
}
