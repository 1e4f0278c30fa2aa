namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Decides whether to hold a flush of one response, so that one send carries more: the end of the response, or other responses of the batch. A held
/// flush leaves when the handler yields, ends or loses its thread, or after a few milliseconds. A mutable struct: keep it in a field.
/// </summary>
internal struct OutputCork
{
    private State _state;

    private enum State : byte
    {
        /// <summary>Only the flushing thread sends. It holds a flush only if that is likely the last.</summary>
        Released,

        /// <summary>The application is in its first call. The calling thread sends afterwards, including the end of the response.</summary>
        Corked,

        /// <summary>The same, but the end of the response is sent at once, because nothing follows it.</summary>
        CorkedUntilEnd,

        /// <summary>Final: every flush is sent at once.</summary>
        Uncorked,
    }

    /// <summary>Whether the thread that called the application sends what is queued.</summary>
    public readonly bool IsCorked => _state is State.Corked or State.CorkedUntilEnd;

    /// <summary>Whether the thread that ends the response sends it.</summary>
    public readonly bool SendsAtEnd => _state != State.Corked;

    /// <summary>Called before the application, by a thread that sends when it returns.</summary>
    /// <param name="sendsAtEnd">Whether the end of the response is still sent at once, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd)
    {
        if (_state == State.Released)
            _state = sendsAtEnd ? State.CorkedUntilEnd : State.Corked;
    }

    /// <summary>The application has returned from its first call before the end.</summary>
    public void Yield()
    {
        if (IsCorked)
            _state = State.Released;
    }

    public void Uncork() => _state = State.Uncorked;

    /// <param name="isHolding">Whether a flush is already held.</param>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <param name="trySetDeadline">Schedules <see cref="ResponseOutput.Uncork"/> and returns whether it could; <see langword="null"/> if never.</param>
    public readonly bool CanHold(bool isHolding, bool isLikelyLast, ResponseOutput response, Func<ResponseOutput, bool>? trySetDeadline) => _state switch
    {
        State.Uncorked => false,
        State.Released => isLikelyLast && (isHolding || trySetDeadline?.Invoke(response) == true),
        _ => true,
    };
}
