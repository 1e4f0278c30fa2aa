namespace FastCgi.AspNetCore.Linux;

/// <summary>The number of threads that the control group (TasksMax=) or user (<c>ulimit -u</c>) may start.</summary>
internal static class ThreadLimit
{
    // The reserve: a quarter, such as 128 of 512, but limited, because the pool needs threads per processor.
    private const int Share = 4;
    private const long Largest = 256;

    /// <summary>Leaves threads to .NET, which ends the process if its thread pool cannot start one.</summary>
    public static int GetForHandlers() => GetForHandlers("/proc", "/sys/fs/cgroup", ResourceLimits.GetThreadsOfUser());

    public static int GetForHandlers(string proc, string groups, long? userLimit)
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
        => (int)Math.Clamp(limit - Math.Min(limit / Share, Largest) - used, 1, int.MaxValue);

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
}
