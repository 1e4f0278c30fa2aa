namespace FastCgi.AspNetCore.Requests;

/// <summary>Rarely used state of a response. Created when first needed, so that long-running requests do not carry it.</summary>
internal sealed class LazyResponseState
{
    // Fields, because callbacks are mutable structs, and the others are exchanged or published with a barrier.
    public ResponseCallbacks OnStarting;
    public ResponseCallbacks OnCompleted;

    /// <summary>The running calls of <see cref="OnStarting"/>.</summary>
    public Task? Starting;

    public Stream? ReplacedBody { get; set; }

    public string? ReasonPhrase { get; set; }

    public byte[]? EncodedFields { get; set; }
}

/// <summary>
/// The callbacks of <c>OnStarting</c> or <c>OnCompleted</c>, in reverse order of registration. A callback may register more. A mutable struct: keep it
/// in a field, do not copy it.
/// </summary>
internal struct ResponseCallbacks
{
    private Stack<(Func<object, Task> Callback, object State)>? _stack;

    public readonly bool Any => _stack is { Count: > 0 };

    public void Push(Func<object, Task> callback, object state)
    {
        ArgumentNullException.ThrowIfNull(callback);
        (_stack ??= new()).Push((callback, state));
    }

    public readonly (Func<object, Task> Callback, object State) Pop() => _stack!.Pop();

    public readonly void Clear() => _stack?.Clear();
}
