namespace FastCgi.AspNetCore.Transport;

internal sealed class LinuxThreadPlatform(ILogger log) : ThreadPlatform(log)
{
    [ThreadStatic]
    private static ThreadStateFile? t_state;

    public override int MaxHandlerThreads { get; } = ThreadLimit.GetForHandlers();

    public static ThreadPlatform Create(ILogger log)
        => OperatingSystem.IsLinux() ? new LinuxThreadPlatform(log) : new ThreadPlatform(log);

    public override ThreadProbe ProbeThisThread()
    {
        var threadId = ThreadClock.GetThreadId();
        var state = t_state ??= new ThreadStateFile(threadId);
        return new ThreadProbe(() => ThreadClock.GetProcessorTime(threadId), () => state.IsSleeping);
    }

    public override ThreadUsage GetUsageOfThisThread()
    {
        var (microseconds, sleeps, interruptions) = ThreadClock.GetUsageOfThisThread();
        return new ThreadUsage(microseconds, sleeps, interruptions);
    }

    protected override void OnEnding()
    {
        t_state?.Dispose();
        t_state = null;
    }
}
