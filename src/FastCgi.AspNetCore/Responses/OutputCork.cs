namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// Decides whether a flush of one response is held, so that one send carries it with what follows: the end of the response, or the
/// responses of the other requests that came with one receive. A held flush leaves when the handler yields, ends, or is taken off
/// its thread, or at a deadline of a few milliseconds. Guarded by the response's lock. A mutable struct: keep it in a field.
/// </summary>
internal struct OutputCork
{
    private State _state;
    private bool _sendsAtEnd;

    private enum State : byte
    {
        /// <summary>No thread is responsible for the sends of this response but the one that flushes. Only a flush that is likely the last is held.</summary>
        Released,

        /// <summary>The application is in its first call, and whoever called it sends afterwards.</summary>
        Corked,

        /// <summary>For good: each flush is sent at once.</summary>
        Uncorked,
    }

    /// <summary>Whether a flush is held.</summary>
    public bool IsHolding { get; private set; }

    /// <summary>Whether what is queued is sent by whoever called the application.</summary>
    public readonly bool IsCorked => _state == State.Corked;

    /// <summary>Whether the thread that ends the response sends it.</summary>
    public readonly bool SendsAtEnd => _state != State.Corked || _sendsAtEnd;

    /// <summary>Begins with another response.</summary>
    public void Begin() => this = default;

    /// <summary>The application is about to be called, by a thread that sends when it comes back.</summary>
    /// <param name="sendsAtEnd">Whether the end of the response is sent at once all the same, because nothing follows it.</param>
    public void Cork(bool sendsAtEnd)
    {
        if (_state != State.Released)
            return;

        _state = State.Corked;
        _sendsAtEnd = sendsAtEnd;
    }

    /// <summary>The application has come back from its first call without an end.</summary>
    public void Yield()
    {
        if (_state == State.Corked)
            _state = State.Released;
    }

    /// <summary>From now on nothing is held.</summary>
    public void Uncork() => _state = State.Uncorked;

    /// <summary>Holds a flush, if it may wait.</summary>
    /// <param name="isLikelyLast">Whether the end of the response is likely to follow at once.</param>
    /// <param name="response">The response.</param>
    /// <param name="deadlines">Who uncorks it if the end does not follow; <see langword="null"/> for nobody.</param>
    public bool TryHold(bool isLikelyLast, ResponseOutput response, CorkDeadlines? deadlines)
    {
        IsHolding = _state switch
        {
            State.Corked => true,
            State.Released => isLikelyLast && (IsHolding || (deadlines?.TryAdd(response, response.Generation) ?? false)),
            _ => false,
        };
        return IsHolding;
    }

    /// <summary>What was held is queued.</summary>
    public void OnQueued() => IsHolding = false;
}
