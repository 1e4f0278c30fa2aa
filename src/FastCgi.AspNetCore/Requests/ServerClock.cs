namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The clock of all timeouts. It stands still while the process does (SIGSTOP, <c>docker pause</c>, a virtual machine that is paused): between two
/// ticks it moves on by one interval at most, so that a process that resumes does not time out what it could not receive or send meanwhile.
/// </summary>
internal sealed class ServerClock(TimeProvider time) : TimeProvider
{
    /// <summary>The time between two ticks.</summary>
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly long _interval = (long)(Interval.TotalSeconds * time.TimestampFrequency);
    private long _lastTick = time.GetTimestamp();
    private long _skipped;

    /// <inheritdoc/>
    public override long TimestampFrequency => time.TimestampFrequency;

    /// <summary>The time of the last tick: near enough for what is counted in seconds, and free.</summary>
    public long LastTick => Volatile.Read(ref _lastTick);

    /// <inheritdoc/>
    public override long GetTimestamp()
    {
        // Read first: with the tick that comes meanwhile, this would run ahead, and go back.
        var latest = LastTick + _interval;
        return Math.Min(time.GetTimestamp() - Volatile.Read(ref _skipped), latest);
    }

    /// <inheritdoc/>
    public override DateTimeOffset GetUtcNow() => time.GetUtcNow();

    /// <inheritdoc/>
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        => time.CreateTimer(callback, state, dueTime, period);

    /// <summary>Moves on: called once in each <see cref="Interval"/>, or more often.</summary>
    public void Tick()
    {
        lock (_lock)
        {
            var now = time.GetTimestamp() - _skipped;
            var late = now - _lastTick - _interval;
            if (late > 0)
                Volatile.Write(ref _skipped, _skipped + late);
            Volatile.Write(ref _lastTick, Math.Min(now, _lastTick + _interval));
        }
    }
}
