namespace FastCgi.AspNetCore.Streams;

/// <summary>State that is accessible only under its lock. A method with a scope parameter requires the lock.</summary>
internal sealed class Guarded<T>
    where T : struct
{
    private readonly Lock _lock = new();
    private T _state = new();

    public Scope Enter() => new(this);

    public readonly ref struct Scope
    {
        private readonly Guarded<T> _guarded;

        internal Scope(Guarded<T> guarded)
        {
            _guarded = guarded;
            Invariants.OnLocking();
            guarded._lock.Acquire();
        }

        public ref T State => ref _guarded._state;

        public void Require(Guarded<T> guarded)
            => Invariants.Require(_guarded == guarded, "The lock of another object is held.");

        public void Dispose()
        {
            _guarded._lock.Exit();
            Invariants.OnUnlocked();
        }
    }
}
