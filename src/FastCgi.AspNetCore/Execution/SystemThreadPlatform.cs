using System.Diagnostics;

namespace FastCgi.AspNetCore.Execution;

/// <summary>Threads on any system. It cannot report what a thread does, so only the time counts.</summary>
internal class SystemThreadPlatform(ILogger log) : ThreadPlatform
{
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    public override void Start(string name, ThreadBody body) => ThreadRoot.Start(name, () => Run(body), log);

    public override ThreadProbe? ProbeThisThread() => null;

    public override ThreadUsage GetUsageOfThisThread() => new((long)Stopwatch.GetElapsedTime(0).TotalMicroseconds, Sleeps: 0);

    private void Run(ThreadBody body)
    {
        while (Step(body) is { } wait)
            Wait(body, wait);
        OnEnding();
    }

    private static void Wait(ThreadBody body, TimeSpan time)
    {
        try
        {
            body.Wait(time);
        }
        catch (ThreadInterruptedException)
        {
            // The application interrupted the thread of a handler that has already returned. Ignore it.
        }
    }

    /// <summary>Called before the thread ends.</summary>
    protected virtual void OnEnding()
    {
    }

    private TimeSpan? Step(ThreadBody body)
    {
        try
        {
            return body.Step();
        }
        catch (Exception exception)
        {
            log.ServerFailed(exception);
            return s_pauseAfterFailure;
        }
    }
}
