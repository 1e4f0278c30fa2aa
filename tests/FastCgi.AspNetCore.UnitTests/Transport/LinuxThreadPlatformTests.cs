namespace FastCgi.AspNetCore.UnitTests.Transport;

public sealed class LinuxThreadPlatformTests
{
    private readonly LinuxThreadPlatform _platform = new(NullLogger.Instance);

    /// <summary>The thread name is the application's, and precedes the state.</summary>
    [Theory, Values("plain", ") R (", "a) S 1 (b")]
    public async Task Probe_SleepingOrBusyThread_ReportsIt(string name)
    {
        using var go = new ManualResetEventSlim();
        var isComputing = true;
        var probe = Waiting.Signal<ThreadProbe>();
        var thread = new Thread(() =>
        {
            probe.SetResult(_platform.ProbeThisThread());
            while (Volatile.Read(ref isComputing))
            {
            }

            go.Wait();
        })
        { Name = name };
        thread.Start();
        var seen = await probe.Task.Within("the thread");

        // Its first turn of the loop may still wait for the runtime.
        await Until(() => seen.IsSleeping == false);
        var before = seen.ProcessorTime;
        Assert.InRange(before, 0, long.MaxValue);
        await Until(() => seen.ProcessorTime >= before + 5_000_000);
        Volatile.Write(ref isComputing, false);
        await Until(() => seen.IsSleeping == true);

        go.Set();
        thread.Join();
    }

    [Fact]
    public void Usage_OfAThread_IsItsOwn()
    {
        const int Sleeps = 10;
        ThreadUsage slept = default, computed = default;
        long nanoseconds = 0;
        var thread = new Thread(() =>
        {
            var before = _platform.GetUsageOfThisThread();
            for (var i = 0; i < Sleeps; i++)
                Thread.Sleep(1);
            slept = _platform.GetUsageOfThisThread() with { Microseconds = 0 };
            slept = slept with { Sleeps = slept.Sleeps - before.Sleeps };
            var id = ThreadClock.GetThreadId();
            Spend(id, static () => Thread.SpinWait(1_000));
            // In the system.
            using var zeros = File.OpenHandle("/dev/zero");
            var bytes = new byte[1 << 20];
            Spend(id, () => Assert.Equal(bytes.Length, RandomAccess.Read(zeros, bytes, 0)));

            computed = _platform.GetUsageOfThisThread();
            nanoseconds = ThreadClock.GetProcessorTime(id);
        });
        thread.Start();
        thread.Join();

        Assert.InRange(slept.Sleeps, Sleeps, long.MaxValue);
        // Two clocks of the system, the one of which counts by its ticks.
        Assert.InRange(computed.Microseconds, (nanoseconds / 1_000) - 20_000, (nanoseconds / 1_000) + 20_000);
    }

    private static void Spend(int thread, Action action)
    {
        var since = ThreadClock.GetProcessorTime(thread);
        while (ThreadClock.GetProcessorTime(thread) - since < 40_000_000)
            action();
    }

    private static Task Until(Func<bool> condition) => Waiting.UntilAsync(condition, "the thread");
}
