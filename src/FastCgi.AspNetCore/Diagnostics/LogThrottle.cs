namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Counts events, and limits how often one is logged, so that a peer cannot flood the log.</summary>
/// <param name="interval">Infinite until <see cref="Reset"/>; a minute by default.</param>
internal sealed class LogThrottle(TimeProvider time, int max = 1, TimeSpan? interval = null)
{
    private readonly Lock _lock = new();
    private readonly TimeSpan _interval = interval ?? TimeSpan.FromMinutes(1);
    private long _since;
    private int _passed;
    private long _count;

    public static LogThrottle Once(TimeProvider time) => new(time, interval: Timeout.InfiniteTimeSpan);

    public bool TryAcquire(out long count)
    {
        using (_lock.Acquire())
        {
            count = ++_count;
            if (_passed > 0 && _interval != Timeout.InfiniteTimeSpan && time.GetElapsedTime(_since) >= _interval)
                _passed = 0;
            if (_passed == max)
                return false;

            if (_passed++ == 0)
                _since = time.GetTimestamp();
            _count = 0;
            return true;
        }
    }

    /// <summary>Called when the condition has cleared: the next event is logged again.</summary>
    public bool Reset()
    {
        using (_lock.Acquire())
        {
            var wasLogged = _passed > 0;
            _passed = 0;
            _count = 0;
            return wasLogged;
        }
    }
}
