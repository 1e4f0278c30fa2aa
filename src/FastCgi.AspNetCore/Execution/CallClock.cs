using System.Runtime;

namespace FastCgi.AspNetCore.Execution;

/// <summary>Measures how long the calls of one thread take.</summary>
internal sealed class CallClock(TimeProvider time)
{
    private readonly long _ticksPerMicrosecond = Math.Max(1, time.TimestampFrequency / 1_000_000);
    private long _mark;
    private int _compiledMethods;
    private long _interruptions;

    /// <summary>The time of the last mark, in microseconds.</summary>
    public long Now => _mark / _ticksPerMicrosecond;

    public void Restart() => _mark = time.GetTimestamp();

    /// <returns>The microseconds since <see cref="Restart"/>.</returns>
    public long Measure()
    {
        var before = _mark;
        _mark = time.GetTimestamp();
        return (_mark - before) / _ticksPerMicrosecond;
    }

    /// <summary>Whether the thread compiled or was interrupted since the last query, which distorts its time.</summary>
    public bool WasDisturbed(ThreadUsage usage)
    {
        var (compiledMethods, interruptions) = (_compiledMethods, _interruptions);
        _compiledMethods = (int)JitInfo.GetCompiledMethodCount(currentThread: true);
        _interruptions = usage.Interruptions;
        return _compiledMethods != compiledMethods || _interruptions != interruptions;
    }
}
