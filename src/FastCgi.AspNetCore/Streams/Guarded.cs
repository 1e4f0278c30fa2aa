namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// State that only the thread that holds its lock can reach: through the scope of <see cref="Enter"/>. A method that
/// takes a scope as a parameter needs the lock, and the state of no other object fits.
/// </summary>
internal sealed class Guarded<T>(LockRank rank)
    where T : struct
{
    private readonly Lock _lock = new();
    private readonly LockRank _rank = rank;
    private T _state;

    public Scope Enter() => new(this);

    /// <summary>The held lock.</summary>
    public readonly ref struct Scope
    {
        private readonly Guarded<T> _guarded;
        private readonly LockRank _before;

        internal Scope(Guarded<T> guarded)
        {
            _guarded = guarded;
            if (Invariants.AreChecked)
                _before = LockOrder.OnEntering(guarded._rank, guarded._lock.IsHeldByCurrentThread);
            guarded._lock.Enter();
        }

        public ref T State => ref _guarded._state;

        /// <summary>Checks that this is the lock of that object.</summary>
        public void Require(Guarded<T> guarded)
        {
            if (Invariants.AreChecked)
                Invariants.Require(_guarded == guarded, "The lock of another object is held.");
        }

        public void Dispose()
        {
            _guarded._lock.Exit();
            if (Invariants.AreChecked)
                LockOrder.OnExited(_before);
        }
    }
}
