namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>A handler may interrupt its own thread, which then waits for locks of the server.</summary>
public sealed class UninterruptedTests
{
    [Fact]
    public void Acquire_ThreadIsInterrupted_WaitsForTheLock()
    {
        var gate = new Lock();
        var (entered, isStillInterrupted) = (false, false);
        var thread = new Thread(() =>
        {
            Thread.CurrentThread.Interrupt();
            using (gate.Acquire())
                entered = true;
            try
            {
                new ManualResetEventSlim().Wait(Timeout.Infinite);
            }
            catch (ThreadInterruptedException)
            {
                isStillInterrupted = true;
            }
        });

        using (gate.Acquire())
        {
            thread.Start();
            SpinWait.SpinUntil(() => thread.ThreadState.HasFlag(System.Threading.ThreadState.WaitSleepJoin));
            Assert.False(entered);
        }

        thread.Join();
        Assert.True(entered);
        Assert.True(isStillInterrupted);
        Assert.True(gate.TryEnter());
    }

    [Fact]
    public void Do_OtherFailure_IsThrown()
        => Assert.Throws<InvalidOperationException>(
            () => Uninterrupted.Do(0, static _ => throw new InvalidOperationException()));
}
