namespace FastCgi.AspNetCore.Testing;

/// <summary>A clock that only a test advances, which then fires the due timers.</summary>
/// <remarks>
/// The timers of <c>Microsoft.Extensions.Time.Testing.FakeTimeProvider</c> all fire at the end of an advance, so that a
/// timer never sees the time for which it was set.
/// </remarks>
/// <param name="start">One hour if not given.</param>
public sealed class FakeClock(TimeSpan? start = null) : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<FakeTimer> _timers = [];
    private TimeSpan _now = start ?? TimeSpan.FromHours(1);

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp()
    {
        lock (_lock)
            return _now.Ticks;
    }

    public TimeSpan Now => new(GetTimestamp());

    /// <summary>The amount by which the system clock has been changed.</summary>
    public TimeSpan Jump { get; set; }

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch.AddTicks(GetTimestamp()) + Jump;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new FakeTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    /// <summary>Advances the time; each timer fires when it is due.</summary>
    public void Advance(TimeSpan time)
    {
        var end = Now + time;
        while (true)
        {
            FakeTimer? due;
            lock (_lock)
            {
                due = _timers.Where(timer => timer.Due <= end).MinBy(static timer => timer.Due);
                _now = due?.Due ?? end;
                due?.Rearm();
            }

            if (due is null)
                return;
            due.Fire();
        }
    }

    /// <summary>Pauses the process: time advances, and each due timer fires once, afterwards.</summary>
    public void Pause(TimeSpan time)
    {
        List<FakeTimer> due;
        lock (_lock)
        {
            _now += time;
            due = [.. _timers.Where(timer => timer.Due <= _now)];
            foreach (var timer in due)
            {
                while (timer.Due <= _now && _timers.Contains(timer))
                    timer.Rearm();
            }
        }

        due.ForEach(static timer => timer.Fire());
    }

    private sealed class FakeTimer(FakeClock clock, TimerCallback callback, object? state) : ITimer
    {
        private TimeSpan _period;

        public TimeSpan Due { get; private set; }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (clock._lock)
            {
                clock._timers.Remove(this);
                _period = period;
                if (dueTime == Timeout.InfiniteTimeSpan)
                    return true;
                Due = clock._now + dueTime;
                clock._timers.Add(this);
                return true;
            }
        }

        public void Rearm()
        {
            if (_period > TimeSpan.Zero)
                Due += _period;
            else
                clock._timers.Remove(this);
        }

        public void Fire() => callback(state);

        public void Dispose() => Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
