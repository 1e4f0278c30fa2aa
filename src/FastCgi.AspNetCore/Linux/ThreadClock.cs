using System.Buffers.Text;

namespace FastCgi.AspNetCore.Linux;

internal static partial class ThreadClock
{
    // Three numbers of at most twenty digits.
    private const int MaxScheduleLength = 64;
    private const long NanosecondsOfSecond = 1_000_000_000;

    // CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED: the clock of a thread of this process, by thread id.
    private const int ThreadProcessorClock = 4 | 2;

    // RUSAGE_THREAD, and the position of ru_nvcsw in its result, which has reserved space (musl).
    private const int UsageOfThread = 1;
    private const int VoluntarySwitches = 16;
    private const int UsageLength = 34;

    // CLOCK_THREAD_CPUTIME_ID
    private const int ThisThread = 3;

    /// <summary>Reads /proc, because glibc has no such call before 2.30.</summary>
    /// <returns>The id of the current thread; 0 if unknown.</returns>
    public static int GetThreadId()
    {
        var target = Path.GetFileName(new FileInfo("/proc/thread-self").LinkTarget);
        return int.TryParse(target, NumberStyles.None, CultureInfo.InvariantCulture, out var id) ? id : 0;
    }

    /// <returns>The CPU time of a thread of this process in nanoseconds; -1 if it has ended or is unknown.</returns>
    public static long GetProcessorTime(int threadId)
        // 0 means the current thread.
        => threadId == 0 ? -1 : ReadClock((~threadId << 3) | ThreadProcessorClock, otherwise: -1);

    /// <returns>The CPU time of the current thread in nanoseconds.</returns>
    public static long GetProcessorTime() => ReadClock(ThisThread, otherwise: 0);

    /// <summary>Reads /proc/thread-self/schedstat: CPU time, time spent waiting for a processor, and turns.</summary>
    /// <returns>
    /// How long the current thread has waited for a processor, in nanoseconds; 0 if the system does not count it, and
    /// null if it cannot be read now, for instance because no descriptor is left.
    /// </returns>
    public static unsafe long? GetWaitingTime()
    {
        int file;
        fixed (byte* path = "/proc/thread-self/schedstat\0"u8)
            file = open(path, Libc.CloseOnExec);
        if (file < 0)
            return Libc.LastError is Libc.ErrorNoEntry or Libc.ErrorAccessDenied ? 0 : null;

        var text = stackalloc byte[MaxScheduleLength];
        var length = (int)Math.Max(0, read(file, text, MaxScheduleLength));
        Libc.Close(file);
        var rest = new ReadOnlySpan<byte>(text, length);
        rest = rest[(rest.IndexOf((byte)' ') + 1)..];
        return Utf8Parser.TryParse(rest, out long waiting, out _) ? waiting : null;
    }

    /// <returns>How often the current thread has given up its processor in order to wait; null if unknown.</returns>
    public static unsafe long? GetWaitCount()
    {
        // getrusage: two times of two numbers each, then counts.
        var usage = stackalloc long[UsageLength];
        // A thread that has never waited is one of a system that does not count, such as gVisor.
        return nint.Size == sizeof(long) && getrusage(UsageOfThread, usage) == 0 && usage[VoluntarySwitches] > 0
            ? usage[VoluntarySwitches]
            : null;
    }

    private static long ReadClock(int clock, long otherwise)
    {
        // struct timespec: seconds and nanoseconds.
        Span<nint> time = stackalloc nint[2];
        return clock_gettime(clock, time) == 0 ? (time[0] * NanosecondsOfSecond) + time[1] : otherwise;
    }

    [LibraryImport(Libc.Library)]
    private static partial int clock_gettime(int clock, Span<nint> time);

    [LibraryImport(Libc.Library)]
    private static unsafe partial int getrusage(int who, long* usage);

    [LibraryImport(Libc.Library, SetLastError = true)]
    private static unsafe partial int open(byte* path, int flags);

    [LibraryImport(Libc.Library)]
    private static unsafe partial nint read(int file, byte* buffer, nuint length);
}
