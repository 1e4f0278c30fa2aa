namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The running calls that began to sleep recently, and how many may run at once. If their threads wait for a processor,
/// more of them only add context switches, and take processors from a database on the same machine. The number that
/// keeps the processors busy is always allowed.
/// </summary>
/// <remarks>The lock of the pool guards it.</remarks>
internal sealed class BriefSleepers(int processors)
{
    // Waits of a few hundred microseconds, for another machine, need as many to keep a processor busy.
    private const int MinPerProcessor = 6;

    // The length of a period, in samples of the watchdog. A call that sleeps for longer hardly uses a processor. If no
    // call that ended in a period was delayed, processors are idle.
    private const int PeriodSamples = 16;

    // The calls that began to sleep in the current period, and in the one before.
    private readonly int[] _counts = new int[2];
    private int _max = int.MaxValue;
    private bool _isDelayed;
    private long _samples;

    /// <summary>The number of further calls that may sleep briefly.</summary>
    public int Room => _max - Count;

    // Sleepers of earlier periods use no processor, so they take no room of others, only threads.
    private int Count => _counts[0] + _counts[1];

    private long Period => _samples / PeriodSamples;

    /// <returns>The period in which the call began to sleep.</returns>
    public long Begin()
    {
        _counts[Period & 1]++;
        return Period;
    }

    public void End(long period)
    {
        if (Period - period <= 1)
            _counts[period & 1]--;
    }

    /// <summary>Adapts the limit after a call that slept.</summary>
    public void OnSlept(CallCost cost)
    {
        var perProcessor = Math.Max(MinPerProcessor, cost.Microseconds / Math.Max(1, cost.Processor));
        var isDelayed = cost.Delayed > cost.Microseconds;
        _isDelayed |= isDelayed;
        var wanted = isDelayed ? Math.Min(_max, Count) - 1 : _max + 1L;
        _max = (int)Math.Clamp(wanted, Math.Min(perProcessor * processors, int.MaxValue), int.MaxValue);
    }

    public void OnSampled()
    {
        if (++_samples % PeriodSamples != 0)
            return;

        _counts[Period & 1] = 0;
        if (!_isDelayed)
            _max = int.MaxValue;
        _isDelayed = false;
    }
}
