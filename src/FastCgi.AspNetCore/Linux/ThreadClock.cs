using System.Globalization;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>What threads have used of the processors.</summary>
internal static unsafe partial class ThreadClock
{
    private const int OfThread = 1;
    private const long MicrosecondsOfSecond = 1_000_000;
    private const long NanosecondsOfSecond = 1_000_000_000;

    // CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED: the clock of any thread of this process, by the thread's number.
    private const int ThreadProcessorClock = 4 | 2;

    /// <summary>The system's number of the thread that asks.</summary>
    /// <returns>0 where the system does not tell.</returns>
    public static int GetThreadId()
    {
        try
        {
            return gettid();
        }
        catch (EntryPointNotFoundException)
        {
            // glibc has it since 2.30, and .NET runs on older ones.
            return ReadThreadId();
        }
    }

    /// <summary>The number of the thread that asks, as /proc tells.</summary>
    /// <returns>0 where it does not.</returns>
    public static int ReadThreadId()
    {
        var target = Path.GetFileName(new FileInfo("/proc/thread-self").LinkTarget);
        return int.TryParse(target, NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
    }

    /// <summary>The nanoseconds that a thread of this process has had a processor; -1 if it has ended, or is not known.</summary>
    public static long GetProcessorTime(int threadId)
    {
        TimeSpec time;
        // The number 0 stands for the thread that asks.
        return threadId != 0 && clock_gettime((~threadId << 3) | ThreadProcessorClock, &time) == 0 ? (time.Seconds * NanosecondsOfSecond) + time.Nanoseconds : -1;
    }

    /// <summary>What the thread that asks has used: microseconds of a processor, and how often it gave the processor up by itself.</summary>
    public static (long Microseconds, long VoluntarySwitches) GetUsageOfThisThread()
    {
        ResourceUsage usage;
        _ = getrusage(OfThread, &usage);
        var seconds = usage.UserSeconds + usage.SystemSeconds;
        return ((seconds * MicrosecondsOfSecond) + usage.UserMicroseconds + usage.SystemMicroseconds, usage.VoluntarySwitches);
    }

    [LibraryImport(Libc.Library)]
    private static partial int gettid();

    [LibraryImport(Libc.Library)]
    private static partial int clock_gettime(int clock, TimeSpec* time);

    [LibraryImport(Libc.Library)]
    private static partial int getrusage(int who, ResourceUsage* usage);

    /// <summary>struct timespec.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }

    /// <summary>struct rusage: what is asked for stands at the front and at the back.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct ResourceUsage
    {
        public nint UserSeconds;
        public nint UserMicroseconds;
        public nint SystemSeconds;
        public nint SystemMicroseconds;
        public fixed long Others[12];
        public nint VoluntarySwitches;
        public nint InvoluntarySwitches;
    }
}
