using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.Linux;

/// <summary>How many descriptors the process can have.</summary>
internal static partial class DescriptorLimit
{
    // What POSIX systems give a process unless they are told otherwise.
    private const long Usual = 1_024;
    private const int DescriptorsOnLinux = 7;

    /// <summary>The limit in force; a usual number where it is not known.</summary>
    public static long Get()
    {
        if (!OperatingSystem.IsLinux() || getrlimit(DescriptorsOnLinux, out var limit) != 0)
            return Usual;

        return (long)Math.Min(limit.Soft, int.MaxValue);
    }

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
