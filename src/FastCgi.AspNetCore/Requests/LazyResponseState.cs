namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What few applications ask of a response. Made when it is first needed, so that a request that waits for minutes does not carry it.
/// </summary>
internal sealed class LazyResponseState
{
    // Fields, because callbacks are structs that change, and the others are exchanged or published with a barrier.

    public ResponseCallbacks OnStarting;

    public ResponseCallbacks OnCompleted;

    /// <summary>The calls of <see cref="OnStarting"/> that were not over at once.</summary>
    public Task? Starting;

    /// <summary>Whether the response is a stream of events, until that is told.</summary>
    public bool IsEventStream;

    public Stream? ReplacedBody { get; set; }

    public string? ReasonPhrase { get; set; }

    public byte[]? EncodedFields { get; set; }
}
