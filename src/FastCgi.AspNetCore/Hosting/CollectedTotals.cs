using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// What several instruments of the meter read of the connections. Whoever collects reads one instrument after the other; the first
/// walks over the connections, and the others take what it found. Any thread may read.
/// </summary>
/// <param name="walk">Walks over the connections.</param>
/// <param name="time">The clock.</param>
internal sealed class CollectedTotals(Func<CollectedTotals.Walk> walk, TimeProvider time)
{
    /// <summary>How old a walk may be. A collection takes less, and nobody collects so often.</summary>
    public static readonly TimeSpan MaxAge = TimeSpan.FromMilliseconds(100);

    private Walk? _last;

    /// <summary>Makes it for the connections of a server.</summary>
    public static CollectedTotals Of(Connections.ConnectionManager connections) => new(
        () =>
        {
            var totals = connections.GetTotals(out var requestCount);
            return new Walk(totals, Math.Max(0, requestCount - connections.Server.Admission.QueuedCount));
        },
        connections.Server.Time);

    /// <summary>Reads for an instrument.</summary>
    /// <param name="instrument">A bit of its own. If it has read the last walk, this is another collection.</param>
    public Walk Read(int instrument)
    {
        var last = Volatile.Read(ref _last);
        if (last is not null && last.TryTake(instrument) && time.GetElapsedTime(last.At) is { Ticks: >= 0 } age && age <= MaxAge)
            return last;

        var at = time.GetTimestamp();
        var next = walk();
        next.At = at;
        next.TryTake(instrument);
        Publish(next);
        return next;
    }

    /// <summary>A walk that began before another may be through after it, and no counter goes back.</summary>
    private void Publish(Walk next)
    {
        var last = Volatile.Read(ref _last);
        while (last is null || last.At <= next.At)
        {
            var found = Interlocked.CompareExchange(ref _last, next, last);
            if (found == last)
                return;
            last = found;
        }
    }

    /// <summary>What one walk has found.</summary>
    internal sealed class Walk(Totals totals, long activeRequests)
    {
        private int _takers;

        /// <summary>What the connections have carried.</summary>
        public Totals Totals { get; } = totals;

        /// <summary>The requests that are under way, without those that waited then.</summary>
        public long ActiveRequests { get; } = activeRequests;

        /// <summary>When it began.</summary>
        public long At { get; set; }

        /// <summary>Takes it for an instrument.</summary>
        /// <returns>Whether that has not taken it before.</returns>
        public bool TryTake(int instrument) => (Interlocked.Or(ref _takers, instrument) & instrument) == 0;
    }
}
