namespace FastCgi.AspNetCore.Transport;

/// <summary>Threads on Linux, which reports what they are doing.</summary>
internal sealed class LinuxThreadPlatform(ILogger log) : ThreadPlatform(log)
{
    [ThreadStatic]
    private static ThreadProbe? t_probe;

    [ThreadStatic]
    private static ThreadStateFile? t_state;

    public override int MaxHandlerThreads { get; } = ThreadLimit.GetForHandlers();

    public static ThreadPlatform Create(ILogger log)
        => OperatingSystem.IsLinux() ? new LinuxThreadPlatform(log) : new ThreadPlatform(log);

    public override ThreadProbe ProbeThisThread() => t_probe ??= CreateProbe();

    public override ThreadUsage GetUsageOfThisThread()
    {
        var (microseconds, sleeps, interruptions) = ThreadClock.GetUsageOfThisThread();
        return new ThreadUsage(microseconds, sleeps, interruptions);
    }

    protected override void OnEnding()
    {
        t_state?.Dispose();
        t_state = null;
        t_probe = null;
    }

    private static ThreadProbe CreateProbe()
    {
        var threadId = ThreadClock.GetThreadId();
        // Not for a pool thread, whose end is not reported to us.
        var state = Thread.CurrentThread.IsThreadPoolThread ? null : new ThreadStateFile(threadId);
        t_state = state;
        return new ThreadProbe(
            () => ThreadClock.GetProcessorTime(threadId), () => state is null
                ? IsSleeping(threadId)
                : state.IsSleeping);
    }

    private static bool? IsSleeping(int threadId)
    {
        using var state = new ThreadStateFile(threadId);
        return state.IsSleeping;
    }
}
