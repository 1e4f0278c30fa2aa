using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Threads on Linux, which tells what they are doing.</summary>
internal sealed class LinuxThreadPlatform(ILogger log) : SystemThreadPlatform(log)
{
    [ThreadStatic]
    private static Probe? t_probe;

    private readonly ThreadHeadroom _headroom = new("/proc", "/sys/fs/cgroup", ResourceLimits.GetThreadsOfUser, TimeProvider.System);

    /// <inheritdoc/>
    public override bool AreThreadsScarce => _headroom.IsReached();

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

    /// <inheritdoc/>
    protected override void OnEnding()
    {
        t_probe?.Dispose();
        t_probe = null;
    }

    private sealed class Probe : ThreadProbe, IDisposable
    {
        private readonly int _threadId = ThreadClock.GetThreadId();

        // Not for threads of the pool, which nobody tells us the end of.
        private readonly ThreadStateFile? _state;

        public Probe()
        {
            if (!Thread.CurrentThread.IsThreadPoolThread)
                _state = new ThreadStateFile(_threadId);
        }

        public override long ProcessorTime => ThreadClock.GetProcessorTime(_threadId);

        public override bool? IsSleeping
        {
            get
            {
                if (_state is not null)
                    return _state.IsSleeping;

                using var state = new ThreadStateFile(_threadId);
                return state.IsSleeping;
            }
        }

        public void Dispose() => _state?.Dispose();
    }
}
