using System.Diagnostics;
using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>
/// Limits new processes to one processor and 1 GiB, with taskset and, if root can create one, a cgroup of either
/// version.
/// </summary>
internal sealed class SmallMachine : IDisposable
{
    public const string Processor = "0";
    private const long Bytes = 1L << 30;

    private readonly string? _group;
    private readonly string? _parent;

    /// <summary>Moves this process, its future child processes, and the database into the small machine.</summary>
    public SmallMachine(int database)
    {
        Process.Start(
            new ProcessStartInfo("taskset", ["-a", "-p", "-c", Processor, Text(database)])
            {
                RedirectStandardOutput = true,
            })!.WaitForExit();
        (_parent, var limit) = Directory.Exists("/sys/fs/cgroup/memory") ? ("/sys/fs/cgroup/memory", "memory.limit_in_bytes") : ("/sys/fs/cgroup",
            "memory.max");
        var group = Path.Combine(_parent, $"perf-history-{Environment.ProcessId}");
        try
        {
            Directory.CreateDirectory(group);
            _group = group;
            File.WriteAllText(Path.Combine(group, limit), Bytes.ToString(CultureInfo.InvariantCulture));
            Move(group, Environment.ProcessId);
            foreach (var process in Family(database))
                Move(group, process);
            Description = $"one processor (taskset), 1 GiB for web server, application, database and load together (cgroup, {limit})";
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            Environment.SetEnvironmentVariable("DOTNET_GCHeapHardLimit", "0x30000000");
            Description = $"one processor (taskset); 768 MiB of managed heap (DOTNET_GCHeapHardLimit), because a cgroup could not be made: {e.Message}";
        }
    }

    public string Description { get; }

    public void Dispose()
    {
        Environment.SetEnvironmentVariable("DOTNET_GCHeapHardLimit", null);
        if (_group is null)
            return;

        try
        {
            foreach (var line in File.ReadAllLines(Path.Combine(_group, "cgroup.procs")))
                Move(_parent!, int.Parse(line, CultureInfo.InvariantCulture));
            Directory.Delete(_group);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            Bench.Log($"{_group} remains: {e.Message}");
        }
    }

    /// <summary>The process that pg_ctl started.</summary>
    public static int FindDatabase()
    {
        var host = Setup.Database.Split(';')
            .First(static part => part.StartsWith("Host=", StringComparison.Ordinal))["Host=".Length..];
        return int.Parse(
            File.ReadLines(Path.Combine(host, "data", "postmaster.pid")).First(), CultureInfo.InvariantCulture);
    }

    private static void Move(string group, int process)
        => File.WriteAllText(Path.Combine(group, "cgroup.procs"), Text(process));

    private static IEnumerable<int> Family(int id) =>
        File.ReadAllText($"/proc/{id}/task/{id}/children")
            .Split(' ', StringSplitOptions.RemoveEmptyEntries)
            .Select(int.Parse)
            .Prepend(id);

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
