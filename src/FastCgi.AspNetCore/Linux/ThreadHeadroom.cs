using System.Globalization;

namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// The last threads that the process may have: those of handlers leave them to .NET, which ends the process when its thread pool cannot start
/// one. So clients that ask for what blocks do not end it, however many they are.
/// </summary>
/// <remarks>
/// What limits threads is the control group (<c>TasksMax=</c>, <c>--pids-limit</c>), which tells what is in use, and the user
/// (<c>LimitNPROC=</c>, <c>ulimit -u</c>), whose threads are counted in /proc. Any thread may ask at any time.
/// </remarks>
/// <param name="proc">The folder /proc.</param>
/// <param name="groups">The folder in which the system shows control groups.</param>
/// <param name="getUserLimit">How many threads the user may have; <see langword="null"/> for no limit.</param>
/// <param name="time">The clock.</param>
internal sealed class ThreadHeadroom(string proc, string groups, Func<long?> getUserLimit, TimeProvider time)
{
    // A quarter, 128 of the 512 of a container. The pool wants some for each processor, not for each thread of the limit, so the share ends somewhere.
    private const int Share = 4;
    private const long Largest = 256;
    private const string LimitFile = "pids.max";

    // To count the threads of a user is to read a file for each process.
    private static readonly TimeSpan s_countInterval = TimeSpan.FromSeconds(1);

    private readonly Lock _lock = new();
    private readonly List<string> _groups = FindGroups(proc, groups);
    private long _userCount;
    private long? _countedAt;

    /// <summary>How many threads of a limit are for handlers and what else there is, the rest being for .NET.</summary>
    public static long CountForHandlers(long limit) => limit - Math.Min(limit / Share, Largest);

    /// <summary>Whether a thread that is about to be started would be among the last. It costs some ten microseconds.</summary>
    public bool IsReached() => _groups.Exists(IsReachedIn) || IsReachedByUser();

    private static bool IsReachedIn(string group)
        => ToNumber(ReadText(Path.Combine(group, LimitFile))) is { } limit && ToNumber(ReadText(Path.Combine(group, "pids.current"))) >= CountForHandlers(limit);

    private bool IsReachedByUser()
    {
        if (getUserLimit() is not { } limit || CountAllThreads() < CountForHandlers(limit))
            return false;

        lock (_lock)
        {
            var now = time.GetTimestamp();
            if (_countedAt is { } countedAt && time.GetElapsedTime(countedAt, now) < s_countInterval)
            {
                // The thread that was asked for has most likely been started.
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

    /// <summary>The threads of the system, of which the user's are a part: one file tells, and is enough unless a limit may be near.</summary>
    private long CountAllThreads()
        // Three averages, how many run of how many, the newest process.
        => ReadText(Path.Combine(proc, "loadavg"))?.Split(' ') is [_, _, _, var threads, ..] ? ToNumber(threads[(threads.IndexOf('/') + 1)..]) ?? long.MaxValue : long.MaxValue;

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
            // No descriptor is left: what was counted is all that is known.
        }

        return count;
    }

    /// <returns><see langword="null"/> if the process has ended meanwhile.</returns>
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
            // It has ended, or no descriptor is left.
        }

        return null;
    }

    /// <summary>The group of the process and those that it is in, as far as they limit threads. A container sees its own as the outermost.</summary>
    private static List<string> FindGroups(string proc, string groups)
    {
        var found = new List<string>();
        try
        {
            foreach (var line in File.ReadLines(Path.Combine(proc, "self", "cgroup")))
            {
                // Number, controllers, path; of version 2 without a controller.
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
            // No /proc: the limits are not known.
        }

        return found;
    }

    /// <returns><see langword="null"/> where the system does not tell.</returns>
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

    /// <returns><see langword="null"/> for "max", and for nothing.</returns>
    private static long? ToNumber(string? text)
        => long.TryParse(text.AsSpan().Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : null;
}
