using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>What the process may have of the system, as <c>ulimit</c>, <c>LimitNOFILE=</c> and prlimit(1) set it.</summary>
internal static partial class ResourceLimits
{
    // What POSIX systems give a process unless they are told otherwise.
    private const long UsualDescriptors = 1_024;

    // The numbers of Linux.
    private const int Threads = 6;
    private const int Descriptors = 7;

    /// <summary>How many descriptors the process can have now; a usual number where it is not known.</summary>
    public static long GetDescriptors() => OperatingSystem.IsLinux() && Get(Descriptors) is { } limit ? limit : UsualDescriptors;

    /// <summary>How many threads the user of the process may have now.</summary>
    /// <returns><see langword="null"/> if there is no limit, as for root, who may pass it, and where the system does not tell.</returns>
    public static long? GetThreadsOfUser() => getuid() == 0 || Get(Threads) is not { } limit || limit == int.MaxValue ? null : limit;

    /// <returns>At most <see cref="int.MaxValue"/>, which is no limit for us; <see langword="null"/> where the system does not tell.</returns>
    private static long? Get(int resource) => getrlimit(resource, out var limit) == 0 ? (long)Math.Min(limit.Soft, int.MaxValue) : null;

    [LibraryImport(Libc.Library)]
    private static partial uint getuid();

    [LibraryImport(Libc.Library)]
    private static partial int getrlimit(int resource, out ResourceLimit limit);

    /// <summary>struct rlimit.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct ResourceLimit
    {
        public nuint Soft;
        public nuint Hard;
    }
}
