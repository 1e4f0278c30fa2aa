namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// A control group of the system, whose processes together may have so much memory, or so many threads. One that needs more memory is ended by the system.
/// </summary>
internal sealed class ControlGroup : IDisposable
{
    private readonly string _folder;

    private ControlGroup(string folder) => _folder = folder;

    /// <summary>A command that starts the rest of its arguments in the group: names with values, and a program.</summary>
    public string[] Starter => ["sh", "-c", $"echo $$ >{_folder}/cgroup.procs; exec env \"$@\"", "sh"];

    /// <summary>Makes a group.</summary>
    /// <param name="limit">What its processes may have together, in bytes.</param>
    /// <returns><see langword="null"/> where the system does not let this user.</returns>
    public static ControlGroup? TryCreateOfMemory(long limit)
        => TryCreate("/sys/fs/cgroup/memory", "memory.limit_in_bytes", limit) ?? TryCreate("/sys/fs/cgroup", "memory.max", limit);

    /// <summary>Makes a group.</summary>
    /// <param name="limit">How many threads its processes may have together.</param>
    /// <returns><see langword="null"/> where the system does not let this user.</returns>
    public static ControlGroup? TryCreateOfThreads(long limit)
        => TryCreate("/sys/fs/cgroup/pids", "pids.max", limit) ?? TryCreate("/sys/fs/cgroup", "pids.max", limit);

    /// <summary>How often the system has ended a process of it.</summary>
    public int CountKilled()
    {
        var file = File.Exists(Path.Combine(_folder, "memory.events")) ? "memory.events" : "memory.oom_control";
        var line = File.ReadLines(Path.Combine(_folder, file)).Single(static line => line.StartsWith("oom_kill ", StringComparison.Ordinal));
        return int.Parse(line["oom_kill ".Length..], CultureInfo.InvariantCulture);
    }

    /// <summary>Its processes have ended.</summary>
    public void Dispose() => Directory.Delete(_folder);

    private static ControlGroup? TryCreate(string parent, string setting, long limit)
    {
        var folder = Path.Combine(parent, "fastcgi-" + Guid.NewGuid().ToString("N"));
        try
        {
            Directory.CreateDirectory(folder);
            // A folder that is no group has no files; one that has not the controller lacks this one.
            if (File.Exists(Path.Combine(folder, setting)))
            {
                File.WriteAllText(Path.Combine(folder, setting), limit.ToString(CultureInfo.InvariantCulture));
                return new ControlGroup(folder);
            }

            Directory.Delete(folder);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Not allowed, or a file system that is read-only.
        }

        return null;
    }
}

/// <summary>A test that limits the memory of a process, and is skipped where the machine or the user may not.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class MemoryGroupTheoryAttribute : TheoryAttribute
{
    private static readonly Lazy<bool> s_isAllowed = new(static () =>
    {
        using var group = ControlGroup.TryCreateOfMemory(1_000_000);
        return group is not null;
    });

    public override string? Skip { get; set; } = s_isAllowed.Value ? null : "This machine or this user may not make a control group of memory.";
}

/// <summary>A test that limits the threads of a process, and is skipped where the machine or the user may not.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class ThreadGroupTheoryAttribute : TheoryAttribute
{
    private static readonly Lazy<bool> s_isAllowed = new(static () =>
    {
        using var group = ControlGroup.TryCreateOfThreads(1_000);
        return group is not null;
    });

    public override string? Skip { get; set; } = s_isAllowed.Value ? null : "This machine or this user may not make a control group of threads.";
}
