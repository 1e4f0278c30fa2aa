namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>Time that a test sets. Timestamps are ticks.</summary>
internal sealed class ManualTime : TimeProvider
{
    public TimeSpan Now { get; set; } = TimeSpan.FromHours(1);

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => Now.Ticks;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch + Now;
}
