namespace FastCgi.AspNetCore.Linux;

internal static partial class ThreadClock
{
    private const int OfThread = 1;
    private const long NanosecondsOfSecond = 1_000_000_000;

    // CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED: the clock of a thread of this process, by thread id.
    private const int ThreadProcessorClock = 4 | 2;

    /// <summary>Reads /proc, because glibc has no such call before 2.30.</summary>
    /// <returns>The id of the current thread; 0 if unknown.</returns>
    public static int GetThreadId()
    {
        var target = Path.GetFileName(new FileInfo("/proc/thread-self").LinkTarget);
        return int.TryParse(target, NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
    }

    /// <returns>The CPU time of a thread of this process in nanoseconds; -1 if it has ended or is unknown.</returns>
    public static long GetProcessorTime(int threadId)
    {
        // 0 means the current thread.
        if (threadId == 0 || clock_gettime((~threadId << 3) | ThreadProcessorClock, out var time) != 0)
            return -1;

        return (time.Seconds * NanosecondsOfSecond) + time.Nanoseconds;
    }

    public static (long Microseconds, long VoluntarySwitches, long InvoluntarySwitches) GetUsageOfThisThread()
    {
        _ = getrusage(OfThread, out var usage);
        var seconds = usage.UserSeconds + usage.SystemSeconds;
        var microseconds = (seconds * TimeSpan.MicrosecondsPerSecond)
            + usage.UserMicroseconds + usage.SystemMicroseconds;
        return (microseconds, usage.VoluntarySwitches, usage.InvoluntarySwitches);
    }

    [LibraryImport(Libc.Library)]
    private static partial int clock_gettime(int clock, out TimeSpec time);

    [LibraryImport(Libc.Library)]
    private static partial int getrusage(int who, out ResourceUsage usage);

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct ResourceUsage
    {
        public nint UserSeconds;
        public nint UserMicroseconds;
        public nint SystemSeconds;
        public nint SystemMicroseconds;
        public Words Others;
        public nint VoluntarySwitches;
        public nint InvoluntarySwitches;
    }

    /// <summary>A struct of C longs, which have 32 bits on 32-bit systems.</summary>
    [InlineArray(12)]
    private struct Words
    {
        private nint _first;
    }
}
