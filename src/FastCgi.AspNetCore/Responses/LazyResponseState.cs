namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// What few applications ask of a response. Made when it is first needed, so that a request that waits for minutes does not carry it,
/// and kept with the response object for the next one.
/// </summary>
internal sealed class LazyResponseState
{
    // Fields, because callbacks are structs that change, and the others are exchanged or published with a barrier.

    /// <summary>The callbacks of <c>OnStarting</c> that were not called.</summary>
    public ResponseCallbacks OnStarting;

    /// <summary>The callbacks of <c>OnCompleted</c> that were not called.</summary>
    public ResponseCallbacks OnCompleted;

    /// <summary>The application's own attempts to complete the response.</summary>
    public Task? Completion;

    /// <summary>The calls of <see cref="OnStarting"/> that were not over at once.</summary>
    public Task? Starting;

    /// <summary>The names of the headers that the server has dropped, until they are logged.</summary>
    public string? DroppedHeaders;

    /// <summary>Whether the response is a stream of events, until that is told.</summary>
    public bool IsEventStream;

    /// <summary>The body that middleware has put in place of the response's.</summary>
    public Stream? ReplacedBody { get; set; }

    /// <summary>The reason phrase, where it is not the usual one.</summary>
    public string? ReasonPhrase { get; set; }

    /// <summary>The header fields as bytes, where the application chooses encodings.</summary>
    public byte[]? EncodedFields { get; set; }

    /// <summary>Forgets all of it.</summary>
    public void Clear()
    {
        OnStarting.Clear();
        OnCompleted.Clear();
        Completion = null;
        Starting = null;
        DroppedHeaders = null;
        IsEventStream = false;
        ReplacedBody = null;
        ReasonPhrase = null;
        EncodedFields = null;
    }
}
