using System.Runtime;

namespace FastCgi.AspNetCore.Execution;

/// <summary>Measures how long the calls of one thread take, one after the other, with one timestamp for each.</summary>
internal sealed class CallClock(TimeProvider time)
{
    private readonly long _ticksPerMicrosecond = Math.Max(1, time.TimestampFrequency / 1_000_000);
    private long _mark;
    private int _compiledMethods;

    /// <summary>The time of the last mark, in microseconds.</summary>
    public long Now => _mark / _ticksPerMicrosecond;

    /// <summary>Begins to measure.</summary>
    public void Restart() => _mark = time.GetTimestamp();

    /// <summary>The microseconds since the last call of this method or <see cref="Restart"/>.</summary>
    public long Measure()
    {
        var before = _mark;
        _mark = time.GetTimestamp();
        return (_mark - before) / _ticksPerMicrosecond;
    }

    /// <summary>Whether the thread has compiled methods since the last call of this method.</summary>
    public bool HasCompiled()
    {
        var before = _compiledMethods;
        _compiledMethods = (int)JitInfo.GetCompiledMethodCount(currentThread: true);
        return _compiledMethods != before;
    }
}
