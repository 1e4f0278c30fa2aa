namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Rarely used state of a response. Created when first needed, so that long-running requests do not carry it.
/// </summary>
internal sealed class LazyResponseState
{
    /// <summary>
    /// The running calls of <see cref="OnStarting"/>. A field, because it is published with a barrier.
    /// </summary>
    public Task? Starting;

    // In reverse order of registration. A callback may register more.
    public Stack<(Func<object, Task> Callback, object State)>? OnStarting { get; set; }
    public Stack<(Func<object, Task> Callback, object State)>? OnCompleted { get; set; }
    public Stream? ReplacedBody { get; set; }
    public string? ReasonPhrase { get; set; }
    public byte[]? EncodedFields { get; set; }
}
