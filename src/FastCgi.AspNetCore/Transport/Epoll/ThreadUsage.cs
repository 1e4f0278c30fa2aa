namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>What a thread has used of the processor, and how often it gave it up by itself.</summary>
internal readonly unsafe struct ThreadUsage
{
    // Wall time would be fooled by a machine that is busy.
    private const long KeptMicroseconds = 500;

    private readonly long _microseconds;
    private readonly long _voluntarySwitches;

    private ThreadUsage(long microseconds, long voluntarySwitches)
    {
        _microseconds = microseconds;
        _voluntarySwitches = voluntarySwitches;
    }

    /// <summary>The usage of the thread that asks.</summary>
    public static ThreadUsage OfThisThread()
    {
        Libc.ResourceUsage usage;
        _ = Libc.GetResourceUsage(Libc.ResourceUsage.OfThisThread, &usage);
        var seconds = usage.UserSeconds + usage.SystemSeconds;
        return new ThreadUsage((seconds * 1_000_000L) + usage.UserMicroseconds + usage.SystemMicroseconds, usage.VoluntarySwitches);
    }

    /// <summary>Whether the thread slept or computed since.</summary>
    public bool HasKeptThread(ThreadUsage before)
        => _voluntarySwitches > before._voluntarySwitches || _microseconds - before._microseconds > KeptMicroseconds;
}
