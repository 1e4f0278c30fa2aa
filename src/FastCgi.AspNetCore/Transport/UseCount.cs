namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// Counts the uses of a resource that any thread may use or close. Exactly one thread releases it: the one that ends
/// the last use after the close, or closes it unused. A mutable struct: do not copy it.
/// </summary>
internal struct UseCount
{
    private const int IsClosing = 1 << 30;

    private int _uses;

    public readonly bool IsUsed => (Volatile.Read(in _uses) & ~IsClosing) > 0;

    public bool TryBegin()
    {
        var uses = Volatile.Read(ref _uses);
        while ((uses & IsClosing) == 0)
        {
            var before = Interlocked.CompareExchange(ref _uses, uses + 1, uses);
            if (before == uses)
                return true;
            uses = before;
        }

        return false;
    }

    /// <returns>Whether the caller must release the resource: it is closed and unused.</returns>
    public bool End()
    {
        var left = Interlocked.Decrement(ref _uses);
        Invariants.Require(((left + 1) & ~IsClosing) > 0, "More uses have ended than begun.");
        return left == IsClosing;
    }

    public bool Close() => Interlocked.Or(ref _uses, IsClosing) == 0;
}
