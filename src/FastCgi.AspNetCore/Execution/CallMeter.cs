namespace FastCgi.AspNetCore.Execution;

/// <summary>What a measured call cost.</summary>
/// <param name="Microseconds">How long it kept the thread, without the time in which it waited for a processor.</param>
/// <param name="IsAsleep">Whether it slept much of that time; null if only the time was measured.</param>
/// <param name="Delayed">How long it waited for a processor, in microseconds.</param>
/// <param name="Processor">How long it used a processor, in microseconds.</param>
internal readonly record struct CallCost(long Microseconds, bool? IsAsleep, long Delayed = 0, long Processor = 0)
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
    // Measuring takes a few microseconds. Every eighth call on average, but not in step with paths that take turns.
    private const int MinCallsBetweenSamples = 4;
    private const int MoreCallsMask = 7;
    private const uint Multiplier = 1_664_525;
    private const uint Increment = 1_013_904_223;

    // A thread that sleeps for less of the time makes good use of its processor.
    private const int AsleepShare = 8;

    private readonly long _ticksPerMicrosecond = Math.Max(1, time.TimestampFrequency / 1_000_000);
    private ThreadUsage? _usage;
    private long _start;
    private uint _random;
    private int _callsToSample;
    private bool _isTimed;

    public long Now => time.GetTimestamp() / _ticksPerMicrosecond;

    public void Begin(Prediction expected)
    {
        var isSample = IsSample();
        _isTimed = isSample || !expected.IsSure;
        _usage = _isTimed && !(expected.IsSure && expected.IsShort) ? platform.GetUsageOfThisThread() : null;
        if (_isTimed)
            _start = Now;
    }

    /// <returns>The cost of the call; null if it was not measured.</returns>
    public CallCost? End()
    {
        if (!_isTimed)
            return null;

        var microseconds = Now - _start;
        if (_usage is not { } before)
            return new CallCost(microseconds, IsAsleep: null);
        if (platform.GetUsageOfThisThread() is not { } usage)
            return null;

        var delayed = usage.Delayed - before.Delayed;
        microseconds = Math.Max(0, microseconds - delayed);
        var processor = usage.Processor - before.Processor;
        var asleep = microseconds - processor;
        // A hypervisor may take the processor, and the system may not report delays: that is no sleep.
        var hasWaited = usage.Waits is null || usage.Waits != before.Waits;
        var isAsleep = hasWaited && asleep >= Prediction.ShortMicroseconds && asleep * AsleepShare > microseconds;
        return new CallCost(microseconds, isAsleep, delayed, processor);
    }

    private bool IsSample()
    {
        if (--_callsToSample > 0)
            return false;

        _random = (_random * Multiplier) + Increment;
        _callsToSample = MinCallsBetweenSamples + (int)((_random >> 16) & MoreCallsMask);
        return true;
    }
}
