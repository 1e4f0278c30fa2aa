namespace FastCgi.AspNetCore.Transport;

internal sealed class LinuxThreadPlatform(ILogger log) : ThreadPlatform(log)
{
    [ThreadStatic]
    private static ThreadStateFile? t_state;

    public override int MaxHandlerThreads { get; } = ResourceLimits.GetHandlerThreads();

    public static ThreadPlatform Create(ILogger log)
        => OperatingSystem.IsLinux() ? new LinuxThreadPlatform(log) : new ThreadPlatform(log);

    public override ThreadProbe ProbeThisThread()
    {
        var threadId = ThreadClock.GetThreadId();
        var state = t_state ??= new ThreadStateFile(threadId);
        return new ThreadProbe(() => ThreadClock.GetProcessorTime(threadId), () => state.IsSleeping);
    }

    public override ThreadUsage? GetUsageOfThisThread()
        => ThreadClock.GetWaitingTime() is { } waiting
            ? new(
                ToMicroseconds(ThreadClock.GetProcessorTime()),
                ToMicroseconds(waiting) + GetPauses(),
                ThreadClock.GetWaitCount())
            : null;

    protected override void OnEnding()
    {
        t_state?.Dispose();
        t_state = null;
    }

    private static long ToMicroseconds(long nanoseconds) => nanoseconds / 1_000;
}
