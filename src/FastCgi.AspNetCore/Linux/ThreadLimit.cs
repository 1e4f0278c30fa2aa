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
        var limit = Math.Min(userLimit ?? int.MaxValue, ReadGroupLimit(proc, groups) ?? int.MaxValue);
        return limit == int.MaxValue ? int.MaxValue : (int)Math.Max(1, limit - Math.Min(limit / Share, Largest));
    }

    /// <returns>The limit of the process's own group; <see langword="null"/> if unlimited or unknown.</returns>
    private static long? ReadGroupLimit(string proc, string groups)
    {
        foreach (var line in SystemFile.Read($"{proc}/self/cgroup")?.Split('\n') ?? [])
        {
            // Number, controller (none in version 2), path. A container sees its own group at the root.
            if (line.Split(':', 3) is not [_, "" or "pids", _] parts)
                continue;

            var root = $"{groups}/{parts[1]}";
            var text = SystemFile.Read($"{root}{parts[2]}/pids.max") ?? SystemFile.Read($"{root}/pids.max");
            if (int.TryParse(text.AsSpan().Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var limit))
                return limit;
        }

        return null;
    }
}
