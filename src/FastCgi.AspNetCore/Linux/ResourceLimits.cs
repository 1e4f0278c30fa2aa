namespace FastCgi.AspNetCore.Linux;

/// <summary>Resource limits, as set by <c>ulimit</c>, <c>LimitNOFILE=</c>, prlimit(1) and sysctl(8).</summary>
internal static partial class ResourceLimits
{
    private const long UsualDescriptors = 1_024;

    private const int Threads = 6;
    private const int Descriptors = 7;

    /// <summary>The maximum number of descriptors of the process; the usual default if unknown.</summary>
    public static long GetDescriptors()
        => OperatingSystem.IsLinux() && Get(Descriptors) is { } limit ? limit : UsualDescriptors;

    /// <returns>The maximum number of threads of the user; <see langword="null"/> if unlimited or unknown.</returns>
    public static long? GetThreadsOfUser()
        => Environment.IsPrivilegedProcess || Get(Threads) is not { } limit || limit == int.MaxValue ? null : limit;

    /// <summary>The maximum backlog of a listening socket; unlimited if unknown.</summary>
    public static int GetBacklog(string path = "/proc/sys/net/core/somaxconn")
        => int.TryParse(SystemFile.Read(path).AsSpan().Trim(), CultureInfo.InvariantCulture, out var limit)
            ? limit
            : int.MaxValue;

    /// <returns>At most <see cref="int.MaxValue"/>, which means no limit; <see langword="null"/> if unknown.</returns>
    private static long? Get(int resource)
        => getrlimit(resource, out var limit) == 0 ? (long)Math.Min(limit.Soft, int.MaxValue) : null;

    [LibraryImport(Libc.Library)]
    private static partial int getrlimit(int resource, out ResourceLimit limit);

    [StructLayout(LayoutKind.Sequential)]
    private struct ResourceLimit
    {
        public nuint Soft;
        public nuint Hard;
    }
}
