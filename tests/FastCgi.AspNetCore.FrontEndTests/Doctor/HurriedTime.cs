namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>A clock that runs faster, because the server checks some conditions only every ten seconds.</summary>
internal sealed class HurriedTime(int factor) : TimeProvider
{
    private readonly DateTimeOffset _start = System.GetUtcNow();
    private TaskCompletionSource _check = NewCheck();

    /// <summary>Waits for the server's next check.</summary>
    public Task WaitForCheckAsync() => Volatile.Read(ref _check).Task.WaitAsync(Waiting.Patience);

    public override DateTimeOffset GetUtcNow() => _start + ((System.GetUtcNow() - _start) * factor);

    public override long GetTimestamp() => System.GetTimestamp() * factor;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        => new Timer(
            System.CreateTimer(
                period == AspNetCore.Advice.Doctor.Interval ? Announce(callback) : callback,
                state,
                Shorten(dueTime),
                Shorten(period)),
            this);

    private static TaskCompletionSource NewCheck() => new(TaskCreationOptions.RunContinuationsAsynchronously);

    private TimerCallback Announce(TimerCallback check) => state =>
    {
        var announced = Interlocked.Exchange(ref _check, NewCheck());
        check(state);
        announced.SetResult();
    };

    private TimeSpan Shorten(TimeSpan time)
        => time > TimeSpan.Zero ? TimeSpan.FromMilliseconds(Math.Ceiling(time.TotalMilliseconds / factor)) : time;

    private sealed class Timer(ITimer timer, HurriedTime time) : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period)
            => timer.Change(time.Shorten(dueTime), time.Shorten(period));

        public void Dispose() => timer.Dispose();

        public ValueTask DisposeAsync() => timer.DisposeAsync();
    }
}
