using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>How many threads the user of the process may have.</summary>
internal static partial class ThreadLimit
{
    private const int ThreadsOnLinux = 6;

    /// <summary>The limit in force.</summary>
    /// <returns><see langword="null"/> if there is none, as for root, who may pass it, and where the system does not tell.</returns>
    public static long? Get()
        => getuid() == 0 || getrlimit(ThreadsOnLinux, out var limit) != 0 || limit.Soft > int.MaxValue ? null : (long)limit.Soft;

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
