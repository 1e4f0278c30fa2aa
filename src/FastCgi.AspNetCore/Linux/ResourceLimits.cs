namespace FastCgi.AspNetCore.Linux;

/// <summary>Resource limits, as set by <c>ulimit</c>, <c>LimitNOFILE=</c>, prlimit(1) and sysctl(8).</summary>
internal static partial class ResourceLimits
{
    private const long UsualDescriptors = 1_024;

    private const int Threads = 6;
    private const int Descriptors = 7;

    // The reserve: a quarter, such as 128 of 512, but limited, because the pool needs threads per processor.
    private const int ReservedShare = 4;
    private const long MaxReserve = 256;

    /// <summary>The maximum number of descriptors of the process; the usual default if unknown.</summary>
    public static long GetDescriptors()
        => OperatingSystem.IsLinux() && Get(Descriptors) is { } limit ? limit : UsualDescriptors;

    /// <summary>
    /// Gets how many threads handlers may use, of those that the control group (TasksMax=) and the user
    /// (<c>ulimit -u</c>) may start. The rest is for .NET, which ends the process if its thread pool cannot start one.
    /// </summary>
    public static int GetHandlerThreads() => GetHandlerThreads("/proc", "/sys/fs/cgroup", GetThreadsOfUser());

    internal static int GetHandlerThreads(string proc, string groups, long? userLimit)
    {
        var count = userLimit is { } limit ? Subtract(limit, used: 0) : int.MaxValue;
        foreach (var group in FindGroups(proc, groups))
        {
            if (ReadNumber(group, "pids.max") is { } max)
                count = Math.Min(count, Subtract(max, ReadNumber(group, "pids.current") ?? 0));
        }

        return count;
    }

    private static int Subtract(long limit, long used)
        => (int)Math.Clamp(limit - Math.Min(limit / ReservedShare, MaxReserve) - used, 1, int.MaxValue);

    /// <summary>The control groups of the process, from inner to outer. A container sees only its own.</summary>
    private static IEnumerable<string> FindGroups(string proc, string groups)
    {
        foreach (var line in SystemFile.Read(Path.Combine(proc, "self", "cgroup"))?.Split('\n') ?? [])
        {
            // Number, controllers (none in version 2), path.
            var parts = line.Split(':', 3);
            if (parts.Length < 3 || !(parts[1].Length == 0 || parts[1].Split(',').Contains("pids")))
                continue;

            var root = parts[1].Length == 0 ? groups : Path.Combine(groups, parts[1]);
            for (var path = parts[2].Trim('/'); ; path = Path.GetDirectoryName(path) ?? "")
            {
                yield return Path.Combine(root, path);
                if (path.Length == 0)
                    break;
            }
        }
    }

    /// <returns><see langword="null"/> for "max" and for an unknown value.</returns>
    private static long? ReadNumber(string group, string file)
        => long.TryParse(
            SystemFile.Read(Path.Combine(group, file)).AsSpan().Trim(), NumberStyles.None, CultureInfo.InvariantCulture,
            out var number)
            ? number
            : null;

    /// <returns>The maximum number of threads of the user; <see langword="null"/> if unlimited or unknown.</returns>
    internal static long? GetThreadsOfUser()
        => Environment.IsPrivilegedProcess || Get(Threads) is not { } limit || limit == int.MaxValue ? null : limit;

    /// <summary>The maximum backlog of a listening socket; unlimited if unknown.</summary>
    public static int GetBacklog(string path = "/proc/sys/net/core/somaxconn")
        => int.TryParse(SystemFile.Read(path).AsSpan().Trim(), CultureInfo.InvariantCulture, out var limit)
            ? limit
            : int.MaxValue;

    /// <returns>At most <see cref="int.MaxValue"/>, which means no limit; <see langword="null"/> if unknown.</returns>
    private static long? Get(int resource)
    {
        // struct rlimit: the soft limit, which applies, and the hard limit.
        Span<nuint> limits = stackalloc nuint[2];
        return getrlimit(resource, limits) == 0 ? (long)Math.Min(limits[0], int.MaxValue) : null;
    }

    [LibraryImport(Libc.Library)]
    private static partial int getrlimit(int resource, Span<nuint> limits);
}
