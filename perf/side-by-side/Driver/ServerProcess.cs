using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace SideBySide.Driver;

/// <summary>A server under measurement, on the processors assigned to servers.</summary>
internal sealed partial class ServerProcess : IDisposable
{
    private readonly Process _process;

    /// <summary>
    /// Starts a program in its folder, and waits until it accepts connections. Its console output is discarded.
    /// </summary>
    public ServerProcess(Settings settings, EndPoint ready, string program, params string[] arguments)
        : this(settings, ready, IsListening, program, arguments)
    {
    }

    /// <summary>Starts a program, and waits until it is ready.</summary>
    public ServerProcess(
        Settings settings, EndPoint ready, Func<EndPoint, bool> isReady, string program, params string[] arguments)
    {
        var folder = Path.GetDirectoryName(Array.Find([program, .. arguments], File.Exists)) ?? "";
        var clock = Stopwatch.StartNew();
        string[] silent = ["sh", "-c", "exec \"$@\" >/dev/null", "sh"];
        var start = new ProcessStartInfo("taskset", ["-c", settings.ServerCores, .. silent, program, .. arguments])
        {
            WorkingDirectory = folder,
        };
        _process = Process.Start(start)!;
        EndPoint = ready;
        while (!isReady(ready))
        {
            if (_process.HasExited || clock.Elapsed > TimeSpan.FromSeconds(30))
            {
                _process.Kill(entireProcessTree: true);
                throw new InvalidOperationException(
                    $"{program} {string.Join(' ', arguments)} does not listen at {ready}.");
            }

            Thread.Sleep(1);
        }

        ReadyAfter = clock.Elapsed;
    }

    public EndPoint EndPoint { get; }

    /// <summary>The time from the start until it was ready.</summary>
    public TimeSpan ReadyAfter { get; }

    /// <summary>Whether it uses a just-in-time compiler, and must warm up before a measurement.</summary>
    public bool NeedsWarmUp { get; init; } = true;

    public int Id => _process.Id;

    /// <summary>The CPU time of the process and its child processes, in microseconds.</summary>
    public double CpuTime => ReadFamily().Sum(ReadClock);

    /// <summary>The resident memory of the process and its child processes, in KiB.</summary>
    public double Memory => ReadFamily().Sum(ReadMemory);

    public void Dispose()
    {
        // nginx and php-fpm end their workers on SIGTERM.
        _ = kill(_process.Id, 15);
        if (!_process.WaitForExit(TimeSpan.FromSeconds(10)))
            _process.Kill(entireProcessTree: true);
        _process.Dispose();
    }

    private static bool IsListening(EndPoint endPoint)
    {
        using var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Connect(endPoint);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    private IEnumerable<int> ReadFamily() => WithChildren(_process.Id);

    private static IEnumerable<int> WithChildren(int id)
    {
        yield return id;
        var children = File.ReadAllText($"/proc/{id}/task/{id}/children")
            .Split(' ', StringSplitOptions.RemoveEmptyEntries);
        foreach (var child in children)
        {
            foreach (var descendant in WithChildren(int.Parse(child, CultureInfo.InvariantCulture)))
                yield return descendant;
        }
    }

    private static double ReadClock(int id)
    {
        // The clock of another process, as clock_getcpuclockid makes it.
        _ = clock_gettime((~id << 3) | 2, out var time);
        return time.Seconds * 1e6 + time.Nanoseconds / 1e3;
    }

    private static double ReadMemory(int id)
    {
        var line = File.ReadLines($"/proc/{id}/status")
            .First(static line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
        return double.Parse(line.AsSpan(6, line.Length - 8), CultureInfo.InvariantCulture);
    }

    [LibraryImport("libc")]
    private static partial int kill(int process, int signal);

    [LibraryImport("libc")]
    private static partial int clock_gettime(int clock, out TimeSpecification time);

    private readonly struct TimeSpecification
    {
        public readonly long Seconds;
        public readonly long Nanoseconds;
    }
}
