namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// The lock of one request and its response (<see cref="LockRank.Response"/>). A base class, because one more object would be one for
/// each request that waits.
/// </summary>
internal class ResponseLock
{
    /// <summary>Whether this thread has the lock.</summary>
    public bool IsLockHeld => Monitor.IsEntered(this);

    /// <summary>Takes the lock.</summary>
    public LockScope EnterLock() => new(this);

    /// <summary>The lock, until it is disposed of.</summary>
    public readonly ref struct LockScope
    {
        private readonly ResponseLock _lock;
        private readonly LockRank _before;

        internal LockScope(ResponseLock @lock)
        {
            _lock = @lock;
            if (Invariants.AreChecked)
                _before = LockOrder.OnEntering(LockRank.Response, Monitor.IsEntered(@lock));
            Monitor.Enter(@lock);
        }

        /// <summary>Releases the lock.</summary>
        public void Dispose()
        {
            Monitor.Exit(_lock);
            if (Invariants.AreChecked)
                LockOrder.OnExited(_before);
        }
    }
}
