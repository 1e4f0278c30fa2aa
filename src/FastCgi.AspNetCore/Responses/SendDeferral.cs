namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// Holds back the sends of one connection while a thread runs the applications of the requests that came with one receive, so that
/// one send carries all they wrote. One per thread that runs applications inline; a response that is streamed waits no longer than
/// until its handler yields, ends, or is found to block.
/// </summary>
internal sealed class SendDeferral
{
    [ThreadStatic]
    private static SendDeferral? t_current;

    private RecordOutput? _output;
    private ResponseOutput? _response;
    private int _epoch;
    private int _seenEpoch;
    private bool _isLast;

    /// <summary>Whether this thread is between two requests of a connection that it will flush.</summary>
    public static bool IsHolding(RecordOutput output) => t_current is { } current && current._output == output && !current._isLast;

    /// <summary>Whether a flush by the application on this thread can wait.</summary>
    public static bool CanHold(ResponseOutput response) => t_current is { } current && current._response == response;

    /// <summary>Begins to hold back the sends of a connection on this thread.</summary>
    public void Begin(RecordOutput output)
    {
        Volatile.Write(ref _epoch, _epoch + 1);
        _output = output;
        t_current = this;
    }

    /// <summary>Names the request whose application is run next.</summary>
    /// <param name="response">Its response.</param>
    /// <param name="isLast">Whether it is the last that this thread runs, so that its end can be sent at once.</param>
    public void Enter(ResponseOutput response, bool isLast)
    {
        _isLast = isLast;
        Volatile.Write(ref _response, response);
    }

    /// <summary>The application returned or is waiting for something: what it flushed meanwhile goes in the line.</summary>
    public void Leave()
    {
        var response = _response!;
        Volatile.Write(ref _response, null);
        response.CommitHeldFlush();
    }

    /// <summary>Ends it, and sends.</summary>
    public void End()
    {
        t_current = null;
        var output = _output!;
        _output = null;
        output.FlushNow();
    }

    /// <summary>Looked at by another thread: if the application has kept this one since the last look, sends what was held back.</summary>
    /// <returns>Whether there was any activity since the last look.</returns>
    public bool Look()
    {
        var epoch = Volatile.Read(ref _epoch);
        if (epoch == _seenEpoch)
            return Rescue();

        _seenEpoch = epoch;
        return true;
    }

    /// <summary>
    /// Called by another thread: sends what is held back. What is read here may be of another request by then, which does no harm: to
    /// send early is always allowed.
    /// </summary>
    /// <returns>Whether an application is being run.</returns>
    public bool Rescue()
    {
        if (Volatile.Read(ref _response) is not { } response)
            return false;

        response.SendHeldFlush();
        return true;
    }
}
