using System.Diagnostics;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Execution;

/// <summary>The threads of .NET, on any system. What a thread does is not to be seen there, so time alone tells.</summary>
internal class SystemThreadPlatform(ILogger log) : ThreadPlatform
{
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromMilliseconds(10);

    /// <inheritdoc/>
    public override void Start(string name, ThreadBody body) => ThreadRoot.Start(name, () => Run(body), log);

    /// <inheritdoc/>
    public override void StartOnThreadPool(ThreadBody body) => ThreadRoot.Queue((Platform: this, Body: body), static state => state.Platform.Run(state.Body), log);

    /// <inheritdoc/>
    public override ThreadProbe? ProbeThisThread() => null;

    /// <inheritdoc/>
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
            // An application that interrupts the thread of a handler may come late: it is over, and the interrupt is nobody's.
        }
    }

    /// <summary>This thread has come to its end, or goes back to the thread pool.</summary>
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
