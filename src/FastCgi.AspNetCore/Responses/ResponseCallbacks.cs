namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The callbacks of <c>OnStarting</c> or <c>OnCompleted</c>: last registered, first called; each awaited; one may register more.
/// A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal struct ResponseCallbacks
{
    private Stack<(Func<object, Task> Callback, object State)>? _stack;

    /// <summary>Whether there is one to call.</summary>
    public readonly bool Any => _stack is { Count: > 0 };

    /// <summary>Registers a callback.</summary>
    public void Push(Func<object, Task> callback, object state)
    {
        ArgumentNullException.ThrowIfNull(callback);
        (_stack ??= new()).Push((callback, state));
    }

    /// <summary>Takes the callback to call next.</summary>
    public readonly (Func<object, Task> Callback, object State) Pop() => _stack!.Pop();

    /// <summary>Forgets those that were not called.</summary>
    public readonly void Clear() => _stack?.Clear();
}
