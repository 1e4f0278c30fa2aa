namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Lets a message into the log at once, and from then on at most once a minute, with the number of events since the last one. How much
/// is logged is not a peer's to choose. Any thread may use it.
/// </summary>
internal sealed class LogRateLimit(TimeProvider time)
{
    private static readonly TimeSpan s_interval = TimeSpan.FromMinutes(1);

    private readonly long _interval = s_interval.Ticks / TimeSpan.TicksPerSecond * time.TimestampFrequency;
    private long _next = long.MinValue;
    private long _count;

    /// <summary>Counts an event.</summary>
    /// <param name="count">The events since the last message, with this one.</param>
    /// <returns>Whether to log it.</returns>
    public bool TryAcquire(out long count)
    {
        Interlocked.Increment(ref _count);
        count = 0;
        var now = time.GetTimestamp();
        var next = Volatile.Read(ref _next);
        if (now < next || Interlocked.CompareExchange(ref _next, now + _interval, next) != next)
            return false;

        count = Interlocked.Exchange(ref _count, 0);
        return true;
    }
}
