namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The callbacks of <c>OnStarting</c> or <c>OnCompleted</c>: last registered, first called; each awaited; one may register more.
/// A mutable struct: keep it in a field, do not copy it.
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
