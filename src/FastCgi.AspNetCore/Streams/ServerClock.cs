namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// The clock of all timeouts. Between two ticks it advances by at most one interval, so it stops while the process does
/// (SIGSTOP, <c>docker pause</c>): a resumed process does not time out data that it could not receive or send.
/// </summary>
internal sealed class ServerClock(TimeProvider time) : TimeProvider
{
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly long _interval = (long)(Interval.TotalSeconds * time.TimestampFrequency);
    private long _lastTick = time.GetTimestamp();
    private long _skipped;

    public TimeProvider Source => time;
    public override long TimestampFrequency => time.TimestampFrequency;

    /// <summary>The time of the last tick: precise to a second, without a system call.</summary>
    public long LastTick => Volatile.Read(ref _lastTick);

    public override long GetTimestamp()
    {
        // Read this first. After a concurrent tick the result could run ahead, then go back.
        var latest = LastTick + _interval;
        return Math.Min(time.GetTimestamp() - Volatile.Read(ref _skipped), latest);
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        => time.CreateTimer(callback, state, dueTime, period);

    public void Tick()
    {
        using (_lock.Acquire())
        {
            var now = time.GetTimestamp() - _skipped;
            var late = now - _lastTick - _interval;
            if (late > 0)
                Volatile.Write(ref _skipped, _skipped + late);
            Volatile.Write(ref _lastTick, Math.Min(now, _lastTick + _interval));
        }
    }
}
