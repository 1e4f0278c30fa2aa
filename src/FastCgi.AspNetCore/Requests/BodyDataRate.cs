using System.Diagnostics;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// Whether a body comes as fast as it must, by Kestrel's rules (its TimeoutControl): the mean of what has come over the time that the application
/// has waited for it; counted from look to look, a second each at most, because a longer one is the fault of this machine.
/// </summary>
internal sealed class BodyDataRate(MinDataRate required, long now)
{
    private static readonly TimeSpan s_longestLook = TimeSpan.FromSeconds(1);

    private TimeSpan _waited;
    private long _lastLook = now;
    private bool _hasWaited;

    public MinDataRate Required => required;

    /// <summary>The application begins to wait. From its thread.</summary>
    public void OnWaiting() => Volatile.Write(ref _hasWaited, true);

    /// <summary>Counts the time since the last look, if the application has waited in it, and compares.</summary>
    public bool IsMissed(TimeProvider time, long now, bool isPaused, bool isWaiting, long receivedLength)
    {
        var sinceLastLook = time.GetElapsedTime(_lastLook, now);
        _lastLook = now;
        if ((!isWaiting & !_hasWaited) | isPaused)
            return false;

        Volatile.Write(ref _hasWaited, false);
        _waited += sinceLastLook < s_longestLook ? sinceLastLook : s_longestLook;
        return _waited > required.GracePeriod && receivedLength / _waited.TotalSeconds < required.BytesPerSecond && !Debugger.IsAttached;
    }
}
