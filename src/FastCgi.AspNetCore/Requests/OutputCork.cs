namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Decides whether to hold a flush, so that one send carries more. A held flush leaves when the handler yields, ends or
/// loses its thread, or after a few milliseconds. A mutable struct: keep it in a field.
/// </summary>
internal struct OutputCork
{
    private State _state;

    private enum State : byte
    {
        /// <summary>Only flushing threads send. They hold a flush only if it is likely the last.</summary>
        Released,

        /// <summary>The first call of the application is running. Its thread sends afterwards, even the end.</summary>
        Corked,

        /// <summary>Like Corked, but the end of the response is sent at once, because nothing follows it.</summary>
        CorkedUntilEnd,

        /// <summary>Every flush is sent at once. Final.</summary>
        Uncorked,
    }

    /// <summary>Whether the thread that called the application sends queued output.</summary>
    public readonly bool IsCorked => _state is State.Corked or State.CorkedUntilEnd;

    /// <summary>Whether the thread that ends the response sends it.</summary>
    public readonly bool SendsAtEnd => _state != State.Corked;

    public void Cork(bool sendsAtEnd)
    {
        if (_state == State.Released)
            _state = sendsAtEnd ? State.CorkedUntilEnd : State.Corked;
    }

    public void Yield()
    {
        if (IsCorked)
            _state = State.Released;
    }

    public void Uncork() => _state = State.Uncorked;

    public readonly bool CanHold(
        bool isHolding, bool isLikelyLast, FastCgiResponse response, Func<FastCgiResponse, bool>? trySetDeadline)
        => _state switch
        {
            State.Uncorked => false,
            State.Released => isLikelyLast && (isHolding || trySetDeadline?.Invoke(response) == true),
            _ => true,
        };
}
