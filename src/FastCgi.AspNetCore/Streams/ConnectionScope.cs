namespace FastCgi.AspNetCore.Streams;

/// <summary>The held lock of a connection. A method that takes it as a parameter needs the lock.</summary>
internal readonly ref struct ConnectionScope
{
    private readonly Lock _lock;
    private readonly LockRank _before;

    internal ConnectionScope(Lock connectionLock)
    {
        _lock = connectionLock;
        if (Invariants.AreChecked)
            _before = LockOrder.OnEntering(LockRank.Connection, connectionLock.IsHeldByCurrentThread);
        connectionLock.Enter();
    }

    public void Dispose()
    {
        _lock.Exit();
        if (Invariants.AreChecked)
            LockOrder.OnExited(_before);
    }
}
