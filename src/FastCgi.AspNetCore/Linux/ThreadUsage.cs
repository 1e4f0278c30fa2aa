using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>What a thread has used of the processor, and how often it gave it up by itself.</summary>
internal readonly unsafe partial struct ThreadUsage
{
    private const int OfThread = 1;

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
        ResourceUsage usage;
        _ = getrusage(OfThread, &usage);
        var seconds = usage.UserSeconds + usage.SystemSeconds;
        return new ThreadUsage((seconds * 1_000_000L) + usage.UserMicroseconds + usage.SystemMicroseconds, usage.VoluntarySwitches);
    }

    /// <summary>Whether the thread slept or computed since.</summary>
    public bool HasKeptThread(ThreadUsage before)
        => _voluntarySwitches > before._voluntarySwitches || _microseconds - before._microseconds > KeptMicroseconds;

    [LibraryImport(Libc.Library)]
    private static partial int getrusage(int who, ResourceUsage* usage);

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
