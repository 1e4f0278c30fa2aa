namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Lets so many slow requests into the log in a minute: when a database hangs, all requests are slow.</summary>
internal sealed class SlowRequests(TimeProvider time)
{
    private const int MaxInAMinute = 100;

    private static readonly TimeSpan s_interval = TimeSpan.FromMinutes(1);

    private readonly Lock _lock = new();
    private long _since = time.GetTimestamp();
    private int _count;
    private long _suppressed;

    /// <summary>Counts a slow request.</summary>
    /// <param name="suppressed">Those that were not logged since the last that was.</param>
    /// <returns>Whether to log it.</returns>
    public bool TryAcquire(out long suppressed)
    {
        lock (_lock)
        {
            suppressed = 0;
            if (time.GetElapsedTime(_since) >= s_interval)
            {
                _since = time.GetTimestamp();
                _count = 0;
            }

            if (_count == MaxInAMinute)
            {
                _suppressed++;
                return false;
            }

            _count++;
            (suppressed, _suppressed) = (_suppressed, 0);
            return true;
        }
    }
}
