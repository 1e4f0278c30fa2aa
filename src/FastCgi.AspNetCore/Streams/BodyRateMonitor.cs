using System.Diagnostics;

namespace FastCgi.AspNetCore.Streams;

/// <summary>The rate at which a body must arrive, after the grace period.</summary>
internal readonly record struct BodyRate(double BytesPerSecond, TimeSpan GracePeriod);

/// <summary>
/// Whether a body arrives fast enough, by Kestrel's rules (its TimeoutControl): the mean rate over the time that the
/// application has waited for it. An interval counts for one second at most: a longer one is this machine's fault.
/// </summary>
internal sealed class BodyRateMonitor(BodyRate required, long now)
{
    private static readonly TimeSpan s_longestInterval = TimeSpan.FromSeconds(1);

    private TimeSpan _waited;
    private long _lastSample = now;
    private bool _hasWaited;

    public BodyRate Required => required;

    public void OnWaiting() => _hasWaited = true;

    /// <summary>Counts the time since the last sample if the application has waited, then compares.</summary>
    public bool IsMissed(TimeProvider time, long now, bool isPaused, bool isWaiting, long receivedLength)
    {
        var elapsed = time.GetElapsedTime(_lastSample, now);
        _lastSample = now;
        if ((!isWaiting && !_hasWaited) || isPaused)
            return false;

        _hasWaited = false;
        _waited += elapsed < s_longestInterval ? elapsed : s_longestInterval;
        return _waited > required.GracePeriod && receivedLength / _waited.TotalSeconds < required.BytesPerSecond
            && !Debugger.IsAttached;
    }
}
