using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Lets the instruments of one collection share a single walk over the connections. Thread-safe.</summary>
internal sealed class CollectedTotals(Func<CollectedTotals.Walk> walk, TimeProvider time)
{
    /// <summary>The maximum age of a walk: longer than a collection takes, shorter than the time between collections.</summary>
    public static readonly TimeSpan MaxAge = TimeSpan.FromMilliseconds(100);

    private Walk? _last;

    public static CollectedTotals Of(Connections.ConnectionManager connections) => new(
        () =>
        {
            var totals = connections.GetTotals(out var requestCount);
            return new Walk(totals, Math.Max(0, requestCount - connections.Server.Admission.QueuedCount));
        },
        connections.Server.Time);

    /// <param name="instrument">The instrument's bit. If it has already read the last walk, a new collection has started.</param>
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

    /// <summary>Keeps the newest walk: a walk that started earlier may end later, and counters must not decrease.</summary>
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

    internal sealed class Walk(Totals totals, long activeRequests)
    {
        private int _takers;

        public Totals Totals { get; } = totals;
        public long ActiveRequests { get; } = activeRequests;
        public long At { get; set; }

        public bool TryTake(int instrument) => (Interlocked.Or(ref _takers, instrument) & instrument) == 0;
    }
}
