using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Threads on Linux, which tells what they are doing.</summary>
internal sealed class LinuxThreadPlatform(ILogger log) : SystemThreadPlatform(log)
{
    // Of threads of the pool too, so that it ends with the thread, and with it its descriptor.
    [ThreadStatic]
    private static Probe? t_probe;

    /// <summary>What the room needs of the threads of this system.</summary>
    public static ThreadPlatform Create(ILogger log) => OperatingSystem.IsLinux() ? new LinuxThreadPlatform(log) : new SystemThreadPlatform(log);

    /// <inheritdoc/>
    public override ThreadProbe ProbeThisThread() => t_probe ??= new Probe();

    /// <inheritdoc/>
    public override ThreadUsage GetUsageOfThisThread()
    {
        var (microseconds, switches) = ThreadClock.GetUsageOfThisThread();
        return new ThreadUsage(microseconds, switches);
    }

    private sealed class Probe : ThreadProbe
    {
        private readonly int _threadId = ThreadClock.GetThreadId();
        private readonly ThreadStateFile _state = new();

        public override long ProcessorTime => ThreadClock.GetProcessorTime(_threadId);

        public override bool? IsSleeping => _state.IsSleeping;
    }
}
