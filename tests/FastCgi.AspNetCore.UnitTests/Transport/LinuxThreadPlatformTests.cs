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
        ThreadUsage slept = default, computed = default;
        long nanoseconds = 0;
        var thread = new Thread(() =>
        {
            var before = GetUsage();
            using var never = new ManualResetEvent(initialState: false);
            never.WaitOne(TimeSpan.FromMilliseconds(50));
            slept = Difference(before);
            var id = ThreadClock.GetThreadId();
            Spend(id, static () => Thread.SpinWait(1_000));
            // In the system.
            using var zeros = File.OpenHandle("/dev/zero");
            var bytes = new byte[1 << 20];
            Spend(id, () => Assert.Equal(bytes.Length, RandomAccess.Read(zeros, bytes, 0)));

            computed = GetUsage();
            nanoseconds = ThreadClock.GetProcessorTime(id);
        });
        thread.Start();
        thread.Join();

        Assert.InRange(slept.Processor, 0, 40_000);
        Assert.True(slept.Waits > 0);
        Assert.InRange(computed.Processor, 80_000, nanoseconds / 1_000);
    }

    /// <summary>If twice as many threads compute as there are processors, some wait.</summary>
    [Fact]
    public void Usage_OfAThreadThatWaitsForAProcessor_ShowsHowLong()
    {
        var delayed = new long[2 * Environment.ProcessorCount];
        var threads = Enumerable.Range(0, delayed.Length).Select(i => new Thread(() =>
        {
            var before = GetUsage();
            Spend(ThreadClock.GetThreadId(), static () => Thread.SpinWait(1_000));
            delayed[i] = Difference(before).Delayed;
        })).ToList();
        threads.ForEach(static thread => thread.Start());
        threads.ForEach(static thread => thread.Join());

        Assert.InRange(delayed.Max(), 1_000, long.MaxValue);
    }

    /// <summary>All threads wait for a collection, so it says nothing about what they do.</summary>
    [Fact]
    public void Usage_WhileGarbageIsCollected_ShowsTheDelay()
    {
        var before = GetUsage();
        var pauses = GC.GetTotalPauseDuration();

        GC.Collect();

        pauses = GC.GetTotalPauseDuration() - pauses;
        Assert.InRange(Difference(before).Delayed, (long)pauses.TotalMicroseconds - 1, long.MaxValue);
        Assert.True(pauses > TimeSpan.Zero);
    }

    private ThreadUsage Difference(ThreadUsage before)
    {
        var now = GetUsage();
        return new ThreadUsage(
            now.Processor - before.Processor, now.Delayed - before.Delayed, (now.Waits ?? 0) - (before.Waits ?? 0));
    }

    private ThreadUsage GetUsage() => Assert.NotNull(_platform.GetUsageOfThisThread());

    private static void Spend(int thread, Action action)
    {
        var since = ThreadClock.GetProcessorTime(thread);
        while (ThreadClock.GetProcessorTime(thread) - since < 40_000_000)
            action();
    }

    private static Task Until(Func<bool> condition) => Waiting.UntilAsync(condition, "the thread");
}
