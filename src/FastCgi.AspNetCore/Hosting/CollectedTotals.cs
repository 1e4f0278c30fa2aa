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
            return new Walk(totals, requestCount);
        },
        connections.Server.Time);

    /// <summary>Reads for an instrument.</summary>
    /// <param name="instrument">A bit of its own. If it has read the last walk, this is another collection.</param>
    public Walk Read(int instrument)
    {
        var last = Volatile.Read(ref _last);
        if (last is not null && last.TryTake(instrument) && time.GetElapsedTime(last.At) <= MaxAge)
            return last;

        var at = time.GetTimestamp();
        var next = walk();
        next.At = at;
        next.TryTake(instrument);
        Volatile.Write(ref _last, next);
        return next;
    }

    /// <summary>What one walk has found.</summary>
    internal sealed class Walk(Totals totals, long requestCount)
    {
        private int _takers;

        /// <summary>What the connections have carried.</summary>
        public Totals Totals { get; } = totals;

        /// <summary>The requests that are under way or wait to be.</summary>
        public long RequestCount { get; } = requestCount;

        /// <summary>When it began.</summary>
        public long At { get; set; }

        /// <summary>Takes it for an instrument.</summary>
        /// <returns>Whether that has not taken it before.</returns>
        public bool TryTake(int instrument) => (Interlocked.Or(ref _takers, instrument) & instrument) == 0;
    }
}
