namespace FastCgi.AspNetCore.Requests;

/// <summary>Rarely used state of a response, created on demand to save memory in waiting requests.</summary>
internal sealed class LazyResponseState
{
    /// <summary>Running calls of <see cref="OnStarting"/>. A field, because it is published with a barrier.</summary>
    public Task? Starting;

    // In reverse order of registration. A callback may register more.
    public Stack<(Func<object, Task> Callback, object State)>? OnStarting { get; set; }
    public Stack<(Func<object, Task> Callback, object State)>? OnCompleted { get; set; }
    public Stream? ReplacedBody { get; set; }
    public string? ReasonPhrase { get; set; }
}
