namespace FastCgi.AspNetCore.Requests;

/// <summary>The lock of one request and its response. A base class, to save one object per waiting request.</summary>
/// <remarks>Must not be visible to the application, which could block the server's threads by holding it.</remarks>
internal class RequestLock
{
    public RequestScope EnterLock() => new(this);
}

/// <summary>The held lock of a request. A method with it as a parameter requires the lock.</summary>
internal readonly ref struct RequestScope
{
    private readonly RequestLock _lock;
    private readonly LockRank _before;

    internal RequestScope(RequestLock requestLock)
    {
        _lock = requestLock;
        if (Invariants.AreChecked)
            _before = LockOrder.OnEntering(LockRank.Request, Monitor.IsEntered(requestLock));
        if (!Monitor.TryEnter(requestLock))
            Uninterrupted.Do(requestLock, Monitor.Enter);
    }

    public void Require(RequestLock requestLock)
    {
        if (Invariants.AreChecked)
            Invariants.Require(_lock == requestLock, "The lock of another request is held.");
    }

    public void Dispose()
    {
        Monitor.Exit(_lock);
        if (Invariants.AreChecked)
            LockOrder.OnExited(_before);
    }
}
