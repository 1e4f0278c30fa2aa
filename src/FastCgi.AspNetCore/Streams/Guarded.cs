namespace FastCgi.AspNetCore.Streams;

/// <summary>State that is accessible only under its lock. A method with a scope parameter requires the lock.</summary>
internal sealed class Guarded<T>(LockRank rank)
    where T : struct
{
    private readonly Lock _lock = new();
    private readonly LockRank _rank = rank;
    private T _state;

    public Scope Enter() => new(this);

    public readonly ref struct Scope
    {
        private readonly Guarded<T> _guarded;
        private readonly LockRank _before;

        internal Scope(Guarded<T> guarded)
        {
            _guarded = guarded;
            if (Invariants.AreChecked)
                _before = LockOrder.OnEntering(guarded._rank, guarded._lock.IsHeldByCurrentThread);
            guarded._lock.Acquire();
        }

        public ref T State => ref _guarded._state;

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
