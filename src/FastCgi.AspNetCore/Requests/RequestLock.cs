using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The lock of one request and its response (<see cref="LockRank.Request"/>). A base class, because one more object would be one for
/// each request that waits.
/// </summary>
internal class RequestLock
{
    public RequestScope EnterLock() => new(this);
}

/// <summary>The lock of a request, held until this is disposed of. A method that has it as a parameter needs the lock.</summary>
internal readonly ref struct RequestScope
{
    private readonly RequestLock _lock;
    private readonly LockRank _before;

    internal RequestScope(RequestLock requestLock)
    {
        _lock = requestLock;
        if (Invariants.AreChecked)
            _before = LockOrder.OnEntering(LockRank.Request, Monitor.IsEntered(requestLock));
        Monitor.Enter(requestLock);
    }

    public void Dispose()
    {
        Monitor.Exit(_lock);
        if (Invariants.AreChecked)
            LockOrder.OnExited(_before);
    }
}
