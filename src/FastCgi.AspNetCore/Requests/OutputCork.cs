namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Decides whether a flush of one response is held, so that one send carries it with what follows: the end of the response, or the
/// responses of the other requests that came with one receive. A held flush leaves when the handler yields, ends, or is taken off
/// its thread, or at a deadline of a few milliseconds. A mutable struct: keep it in a field.
/// </summary>
internal struct OutputCork
{
    private State _state;

    private enum State : byte
    {
        /// <summary>No thread is responsible for the sends of this response but the one that flushes. Only a flush that is likely the last is held.</summary>
        Released,

        /// <summary>The application is in its first call, and whoever called it sends afterwards, the end of the response too.</summary>
        Corked,

        /// <summary>The same, but the end of the response is sent at once, because nothing follows it.</summary>
        CorkedUntilEnd,

        /// <summary>For good: each flush is sent at once.</summary>
        Uncorked,
    }

    /// <summary>Whether what is queued is sent by whoever called the application.</summary>
    public readonly bool IsCorked => _state is State.Corked or State.CorkedUntilEnd;

    /// <summary>Whether the thread that ends the response sends it.</summary>
    public readonly bool SendsAtEnd => _state != State.Corked;

    /// <summary>The application is about to be called, by a thread that sends when it comes back.</summary>
    /// <param name="sendsAtEnd">Whether the end of the response is sent at once all the same, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd)
    {
        if (_state == State.Released)
            _state = sendsAtEnd ? State.CorkedUntilEnd : State.Corked;
    }

    /// <summary>The application has come back from its first call without an end.</summary>
    public void Yield()
    {
        if (IsCorked)
            _state = State.Released;
    }

    /// <summary>From now on nothing is held.</summary>
    public void Uncork() => _state = State.Uncorked;

    /// <summary>Whether a flush is held.</summary>
    /// <param name="isHolding">Whether one is held already.</param>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <param name="response">The response.</param>
    /// <param name="trySetDeadline">Has it uncorked if the end does not follow, and returns whether it will be; <see langword="null"/> if it never is.</param>
    public readonly bool CanHold(bool isHolding, bool isLikelyLast, ResponseOutput response, Func<ResponseOutput, bool>? trySetDeadline) => _state switch
    {
        State.Uncorked => false,
        State.Released => isLikelyLast && (isHolding || trySetDeadline?.Invoke(response) == true),
        _ => true,
    };
}
