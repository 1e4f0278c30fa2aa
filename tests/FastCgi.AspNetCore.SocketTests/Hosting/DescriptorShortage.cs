using System.Globalization;
using System.Reflection;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>While it lasts, this process has no descriptor left, or some that are not for connections.</summary>
internal sealed partial class DescriptorShortage : IDisposable
{
    private const int DescriptorLimit = 7;

    private readonly ResourceLimit _before;
    private readonly List<FileStream> _taken = [];

    /// <param name="left">How many descriptors it has.</param>
    public DescriptorShortage(int left = 0)
    {
        LoadAssemblies();
        StartThreads();
        Assert.Equal(0, getrlimit(DescriptorLimit, out _before));
        var highest = Directory.EnumerateFileSystemEntries("/proc/self/fd").Max(static path => int.Parse(Path.GetFileName(path), CultureInfo.InvariantCulture));
        Assert.Equal(0, setrlimit(DescriptorLimit, _before with { Soft = (nuint)(highest + 1 + left) }));
        try
        {
            while (true)
                _taken.Add(new FileStream("/dev/null", FileMode.Open, FileAccess.Read, FileShare.ReadWrite));
        }
        catch (IOException)
        {
            // There is none left.
        }

        // The last ones.
        for (; left > 0; left--)
        {
            _taken[^1].Dispose();
            _taken.RemoveAt(_taken.Count - 1);
        }
    }

    public void Dispose()
    {
        _ = setrlimit(DescriptorLimit, _before);
        _taken.ForEach(static file => file.Dispose());
    }

    /// <summary>.NET remembers that an assembly could not be loaded, so those that later tests use must be there before.</summary>
    private static void LoadAssemblies()
    {
        foreach (var name in typeof(DescriptorShortage).Assembly.GetReferencedAssemblies())
            Assembly.Load(name);
    }

    /// <summary>A new thread needs descriptors too, and without them .NET's thread pool ends the process: the threads must be there before.</summary>
    private static void StartThreads()
    {
        const int Count = 8;
        ThreadPool.GetMinThreads(out var workers, out var completions);
        ThreadPool.SetMinThreads(Math.Max(workers, 2 * Count), completions);
        using var all = new Barrier(Count);
        Task.WaitAll(Enumerable.Range(0, Count).Select(_ => Task.Run(() => all.SignalAndWait(Waiting.Patience))));
        ThreadPool.SetMinThreads(workers, completions);
    }

    [LibraryImport("libc")]
    private static partial int getrlimit(int resource, out ResourceLimit limit);

    [LibraryImport("libc")]
    private static partial int setrlimit(int resource, in ResourceLimit limit);

    [StructLayout(LayoutKind.Sequential)]
    private record struct ResourceLimit(nuint Soft, nuint Hard);
}
