namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// Counts the uses of something that any thread may use and any may close. The thread that ends the last use
/// after the close, or closes it while nobody uses it, releases it, exactly once. A mutable struct: keep it in a field, do not copy it.
/// </summary>
internal struct UseCount
{
    private const int IsClosing = 1 << 30;

    private int _uses;

    /// <summary>Begins a use.</summary>
    /// <returns>Whether it is still open.</returns>
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

    /// <summary>Ends a use.</summary>
    /// <returns>Whether it is for the caller to release what was used: nobody else uses it, nor ever will.</returns>
    public bool End() => Interlocked.Decrement(ref _uses) == IsClosing;

    /// <summary>Lets no use begin any more.</summary>
    /// <returns>Whether it is for the caller to release what was used: nobody else uses it, nor ever will.</returns>
    public bool Close() => Interlocked.Or(ref _uses, IsClosing) == 0;
}
