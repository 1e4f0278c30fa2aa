namespace FastCgi.AspNetCore.Execution;

/// <summary>What a measured call cost.</summary>
/// <param name="Microseconds">How long it kept the thread, without the time in which it waited for a processor.</param>
/// <param name="IsAsleep">Whether it slept much of that time; null if only the time was measured.</param>
/// <param name="Delayed">How long it waited for a processor, in microseconds.</param>
internal readonly record struct CallCost(long Microseconds, bool? IsAsleep, long Delayed = 0)
{
    public bool IsShort => Microseconds < Prediction.ShortMicroseconds;
}

/// <summary>Measures calls of one thread: all whose behavior is uncertain, and a sample of the others.</summary>
/// <remarks>
/// On a busy machine, each call waits for a processor and for the garbage collector. So those waits are measured and
/// subtracted. If such calls were skipped instead, nothing would be learned when it matters most.
/// </remarks>
internal sealed class CallMeter(ThreadPlatform platform, TimeProvider time)
{
    // Measuring takes a few microseconds.
    private const int CallsBetweenSamples = 8;

    // A thread that sleeps for less of the time makes good use of its processor.
    private const int AsleepShare = 8;

    private readonly long _ticksPerMicrosecond = Math.Max(1, time.TimestampFrequency / 1_000_000);
    private ThreadUsage _usage;
    private long _start;
    private int _calls;
    private bool _isTimed;
    private bool _isExact;

    /// <summary>The current time in microseconds.</summary>
    public long Now => time.GetTimestamp() / _ticksPerMicrosecond;

    /// <summary>Called before a call whose behavior is predicted.</summary>
    public void Begin(Prediction expected)
    {
        var isSample = _calls++ % CallsBetweenSamples == 0;
        _isExact = !expected.IsSure || (isSample && !expected.IsShort);
        _isTimed = _isExact || isSample;
        if (_isExact)
            _usage = platform.GetUsageOfThisThread();
        if (_isTimed)
            _start = Now;
    }

    /// <returns>The cost of the call; null if it was not measured.</returns>
    public CallCost? End()
    {
        if (!_isTimed)
            return null;

        var microseconds = Now - _start;
        if (!_isExact)
            return new CallCost(microseconds, IsAsleep: null);

        var usage = platform.GetUsageOfThisThread();
        var delayed = usage.Delayed - _usage.Delayed;
        microseconds = Math.Max(0, microseconds - delayed);
        var asleep = microseconds - (usage.Processor - _usage.Processor);
        var isAsleep = asleep >= Prediction.ShortMicroseconds && asleep * AsleepShare > microseconds;
        return new CallCost(microseconds, isAsleep, delayed);
    }
}
