namespace FastCgi.AspNetCore.Linux;

/// <summary>Reserves the last threads for .NET, which terminates a process whose thread pool cannot start one.</summary>
/// <remarks>
/// Threads are limited by the control group (<c>TasksMax=</c>, <c>--pids-limit</c>), which reports its usage, and per user (<c>LimitNPROC=</c>,
/// <c>ulimit -u</c>), whose threads are counted in /proc. Thread-safe.
/// </remarks>
internal sealed class ThreadHeadroom(string proc, string groups, Func<long?> getUserLimit, TimeProvider time)
{
    // A quarter: 128 of 512 in a container. The thread pool needs threads per processor, so the reserve has a maximum.
    private const int Share = 4;
    private const long Largest = 256;
    private const string LimitFile = "pids.max";

    // Counting the threads of a user reads a file per process.
    private static readonly TimeSpan s_countInterval = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly List<string> _groups = FindGroups(proc, groups);
    private long _userCount;
    private long? _countedAt;

    /// <summary>The part of a limit that .NET does not reserve.</summary>
    public static long CountForHandlers(long limit) => limit - Math.Min(limit / Share, Largest);

    /// <summary>Whether the next thread would be in the reserve. Takes about ten microseconds.</summary>
    public bool IsReached() => _groups.Exists(IsReachedIn) || IsReachedByUser();

    private static bool IsReachedIn(string group)
        => ToNumber(ReadText(Path.Combine(group, LimitFile))) is { } limit
            && ToNumber(ReadText(Path.Combine(group, "pids.current"))) >= CountForHandlers(limit);

    private bool IsReachedByUser()
    {
        if (getUserLimit() is not { } limit || CountAllThreads() < CountForHandlers(limit))
            return false;

        lock (_lock)
        {
            var now = time.GetTimestamp();
            if (_countedAt is { } countedAt && time.GetElapsedTime(countedAt, now) < s_countInterval)
            {
                // Assume that the previous thread was started.
                _userCount++;
            }
            else
            {
                _userCount = CountThreadsOfUser();
                _countedAt = now;
            }

            return _userCount >= CountForHandlers(limit);
        }
    }

    /// <summary>All threads of the system, from one file: an upper bound for the threads of the user.</summary>
    private long CountAllThreads()
        // Three averages, running/total threads, last process id.
        => ReadText(Path.Combine(proc, "loadavg"))?.Split(' ') is [_, _, _, var threads, ..]
            ? ToNumber(threads[(threads.IndexOf('/') + 1)..]) ?? long.MaxValue : long.MaxValue;

    private long CountThreadsOfUser()
    {
        if (ReadProcess("self") is not { } self)
            return 0;

        long count = 0;
        try
        {
            foreach (var folder in Directory.EnumerateDirectories(proc))
            {
                var name = Path.GetFileName(folder);
                if (char.IsAsciiDigit(name[0]) && ReadProcess(name) is { } process && process.User == self.User)
                    count += process.Threads;
            }
        }
        catch (IOException)
        {
            // No descriptor is left: use the count so far.
        }

        return count;
    }

    private (long User, long Threads)? ReadProcess(string name)
    {
        try
        {
            long? user = null;
            foreach (var line in File.ReadLines(Path.Combine(proc, name, "status")))
            {
                if (line.StartsWith("Uid:", StringComparison.Ordinal))
                    user = ToNumber(line.Split('\t')[1]);
                else if (line.StartsWith("Threads:", StringComparison.Ordinal) && user is not null && ToNumber(line.Split('\t')[1]) is { } threads)
                    return (user.Value, threads);
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The process has ended, or no descriptor is left.
        }

        return null;
    }

    /// <summary>The control groups of the process, from inner to outer, that limit threads. In a container, its own group is the outermost.</summary>
    private static List<string> FindGroups(string proc, string groups)
    {
        var found = new List<string>();
        try
        {
            foreach (var line in File.ReadLines(Path.Combine(proc, "self", "cgroup")))
            {
                // Number, controllers (none in version 2), path.
                var parts = line.Split(':', 3);
                if (parts.Length < 3 || !(parts[1].Length == 0 || parts[1].Split(',').Contains("pids")))
                    continue;

                var root = parts[1].Length == 0 ? groups : Path.Combine(groups, parts[1]);
                for (var path = parts[2].Trim('/'); ; path = Path.GetDirectoryName(path) ?? "")
                {
                    var group = Path.Combine(root, path);
                    if (File.Exists(Path.Combine(group, LimitFile)))
                        found.Add(group);
                    if (path.Length == 0)
                        break;
                }
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // No /proc: the limits are unknown.
        }

        return found;
    }

    private static string? ReadText(string file)
    {
        try
        {
            return File.ReadAllText(file);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <returns><see langword="null"/> for "max" and for an unknown value.</returns>
    private static long? ToNumber(string? text)
        => long.TryParse(text.AsSpan().Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
