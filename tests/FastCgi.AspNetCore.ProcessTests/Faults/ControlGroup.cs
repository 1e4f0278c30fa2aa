namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// A control group that limits the total number of threads of its processes.
/// </summary>
internal sealed class ControlGroup : IDisposable
{
    private readonly string _folder;

    private ControlGroup(string folder) => _folder = folder;

    /// <summary>A command that starts its remaining arguments in the group: variables and a program.</summary>
    public string[] Starter => ["sh", "-c", $"echo $$ >{_folder}/cgroup.procs; exec env \"$@\"", "sh"];

    /// <summary>Makes a group.</summary>
    /// <param name="limit">The limit of threads of all its processes.</param>
    /// <returns><see langword="null"/> if the system does not permit it.</returns>
    public static ControlGroup? TryCreateOfThreads(long limit)
        => TryCreate("/sys/fs/cgroup/pids", "pids.max", limit) ?? TryCreate("/sys/fs/cgroup", "pids.max", limit);

    /// <summary>Deletes the group, whose processes must have ended.</summary>
    public void Dispose() => Directory.Delete(_folder);

    private static ControlGroup? TryCreate(string parent, string setting, long limit)
    {
        var folder = Path.Combine(parent, "fastcgi-" + Guid.NewGuid().ToString("N"));
        try
        {
            Directory.CreateDirectory(folder);
            // The file is missing if the folder is not a group or lacks the controller.
            if (File.Exists(Path.Combine(folder, setting)))
            {
                File.WriteAllText(Path.Combine(folder, setting), limit.ToString(CultureInfo.InvariantCulture));
                return new ControlGroup(folder);
            }

            Directory.Delete(folder);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // Not permitted, or a read-only file system.
        }

        return null;
    }
}

/// <summary>A test that limits the threads of a process. It is skipped where this is not permitted.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class ThreadGroupTheoryAttribute : TheoryAttribute
{
    private static readonly Lazy<bool> s_isAllowed = new(static () =>
    {
        using var group = ControlGroup.TryCreateOfThreads(1_000);
        return group is not null;
    });

    public override string? Skip { get; set; } = s_isAllowed.Value
        ? null
        : "This machine or user cannot create a control group for threads.";
}
