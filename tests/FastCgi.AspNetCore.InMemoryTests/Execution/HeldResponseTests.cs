namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Output that a call holds back, and the watchdog sample after which another thread sends it.</summary>
public sealed class HeldResponseTests : SchedulerTest
{
    private int SendCount => FrontEnd.Transport.SendCount;

    /// <summary>Another batch is sent when it ends, which may be just as early.</summary>
    [Theory]
    [InlineData(false, 0, 1, 2)]
    [InlineData(true, 0, 1, 1)]
    public void Call_AnotherHasWritten_ItsOutputIsSentIfItIsOfTheBatch(bool isOtherBatch, params int[] expected)
    {
        var sends = new List<int>();
        Application = async context =>
        {
            await Apps.Hello(context);
            if (context.Request.Path != "/quick1")
                Sample();
            sends.Add(SendCount);
        };

        if (isOtherBatch)
        {
            Run(RecordBytes.Get(1));
            Run(RecordBytes.Get(2, "/quick1"), RecordBytes.Get(3));
        }
        else
        {
            Run(RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Get(3));
        }

        Assert.Equal(expected, sends);
    }

    /// <summary>The loop gets a thread beyond the limit.</summary>
    [Fact]
    public void Call_SleepsAndNoThreadIsLeft_HeldOutputIsSentAtTheSecondSample()
    {
        Learn("/");
        Occupy(Permit.Thread, MaxBlockingThreads);
        Platform.Probe!.Sleeps = true;

        Assert.Equal([0, 1], CountSends(samples: 2));
    }

    [Fact]
    public void Call_WaitsForAProcessor_HeldOutputIsSentAtTheFourthSample()
        => Assert.Equal([0, 0, 0, 1], CountSends(samples: 4));

    [Theory, Values(true, false)]
    public async Task LoopIsTaken_HeldOutput_IsSentAndThePathIsLearned(bool writes)
    {
        Platform.Probe!.Sleeps = true;
        Application = async context =>
        {
            if (context.Request.Path == "/first1")
            {
                await Apps.Hello(context);
                return;
            }

            if (writes)
                await FlushAsync(context);
            Sample();
            Assert.Equal(0, SendCount);
            Clock.Advance(TimeSpan.FromMilliseconds(2));
            Sample();
            // Two threads may send: the one that owns the loop, and the one that sends the held output.
            Assert.InRange(SendCount, 1, 2);
            if (writes)
            {
                // From now on nothing is held.
                var before = SendCount;
                await FlushAsync(context);
                Assert.Equal(before + 1, SendCount);
            }
        };

        Assert.False(Run(RecordBytes.Get(1, "/first1"), RecordBytes.Get(2, "/keeps1")));

        Assert.True(Scheduler.Predictor.Predict(new PathKey("/keeps1")).Sleeps);
        Assert.False(Scheduler.Predictor.Predict(new PathKey("/first1")).Sleeps);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync(1);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>A thread that computes may be compiling, after which the path keeps no thread.</summary>
    [Fact]
    public async Task LoopIsTaken_CallComputes_TheNextIsMeasured()
    {
        Application = async context =>
        {
            await Apps.Hello(context);
            if (context.Request.Path != "/compiles1")
                return;

            Sample();
            Platform.Probe!.Time += 1_000_000;
            Clock.Advance(TimeSpan.FromMilliseconds(20));
            Platform.Usage = new ThreadUsage(Processor: 20_000, Delayed: 0);
            Sample();
            Assert.Equal(1, Scheduler.Watchdog.HandOverCount);
        };

        Assert.False(Run(RecordBytes.Get(1, "/first1"), RecordBytes.Get(2, "/compiles1")));

        var learned = Scheduler.Predictor.Predict(new PathKey("/compiles1"));
        Assert.False(learned.Sleeps);
        Assert.False(learned.IsSure);
        Platform.RunAll();
        await FrontEnd.ReadResponseAsync(1);
        await FrontEnd.ReadResponseAsync(2);
    }

    /// <summary>The watchdog does not sample such threads.</summary>
    [Fact]
    public async Task Request_KnownToBlock_HoldsNoOutput()
    {
        Scheduler.Predictor.OnStalled(new PathKey("/keeps1"));
        var sends = 0;
        Application = async context =>
        {
            await FlushAsync(context);
            sends = SendCount;
        };

        Run(RecordBytes.Get(1, "/keeps1"));
        Platform.RunAll();

        Assert.Equal(1, sends);
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>
    /// A thread that holds a lock may wait for a processor, or for the application. Until the watchdog continues, no
    /// loop gets another thread.
    /// </summary>
    [Fact]
    public async Task Sample_AnotherThreadHoldsTheLock_DoesNotTakeItAndSendsNothing()
    {
        Platform.Probe!.Sleeps = true;
        Application = async context =>
        {
            await FlushAsync(context);
            if (context.Request.Path != "/keeps1")
                return;

            using var scope = ((FastCgiRequest)context.Features.Get<IHttpRequestLifetimeFeature>()!).EnterLock();
            SampleOnAnotherThread();
        };

        Assert.False(Run(RecordBytes.Get(1, "/first1"), RecordBytes.Get(2, "/keeps1")));

        Platform.RunAll();
        await FrontEnd.ReadResponseAsync(1);
        Assert.Equal("part", (await FrontEnd.ReadResponseAsync(2)).Text);
    }

    /// <summary>Takes the samples after which the held output is sent by other threads.</summary>
    private void SampleOnAnotherThread()
    {
        var before = SendCount;
        var sampling = Task.Run(() =>
        {
            for (var i = 0; i < 4; i++)
                Scheduler.Watchdog.Sample();
        });
        Assert.True(sampling.Wait(TimeSpan.FromSeconds(10)), "The watchdog waits for a lock.");
        Assert.Equal(1, Scheduler.Watchdog.HandOverCount);
        Assert.Equal(before, SendCount);
    }

    /// <summary>The end is likely to follow at once. Otherwise, the next sample has it sent.</summary>
    [Theory, Values(true, false)]
    public async Task Flush_LikelyTheLast_IsSentAtTheNextSampleOrTheEndOfTheWatchdog(bool samples)
    {
        Server.Deadlines = Scheduler.Watchdog.TrySetDeadline;
        Scheduler.Watchdog.Start();
        var (begin, held, end) = (Waiting.Signal(), Waiting.Signal(), Waiting.Signal());
        Application = async context =>
        {
            context.Response.ContentLength = 4;
            await begin.Task;
            await FlushAsync(context);
            held.SetResult();
            await end.Task;
        };
        Run(RecordBytes.Get());
        begin.SetResult();
        await held.Task.Within("the flush");
        Assert.Equal(0, SendCount);

        if (samples)
        {
            Assert.True(Scheduler.Watchdog.Sample().HadDeadlines);
            Assert.False(Scheduler.Watchdog.Sample().HadDeadlines);
        }
        else
        {
            Scheduler.Watchdog.Stop();
            Assert.Null(Watchdog.Step());
        }

        Platform.RunAll();
        Assert.Equal(1, SendCount);
        end.SetResult();
        await FrontEnd.ReadResponseAsync();
    }

    /// <summary>Most held responses end within microseconds.</summary>
    [Fact]
    public async Task Sample_HeldResponseHasEnded_WakesNoThread()
    {
        Server.Deadlines = Scheduler.Watchdog.TrySetDeadline;
        Scheduler.Watchdog.Start();
        var begin = Waiting.Signal();
        Application = async context =>
        {
            context.Response.ContentLength = 4;
            await begin.Task;
            await FlushAsync(context);
        };
        Run(RecordBytes.Get());
        Platform.RunAll();
        begin.SetResult();
        await FrontEnd.ReadResponseAsync();
        Platform.Started.Clear();

        Assert.True(Scheduler.Watchdog.Sample().HadDeadlines);

        Assert.Empty(Platform.Started);
    }

    /// <summary>While the watchdog is parked, nothing would send held output.</summary>
    [Fact]
    public void TrySetDeadline_WhileTheWatchdogIsParked_Refused()
    {
        var request = (FastCgiRequest)FrontEnd.Receive(RecordBytes.Get()).RemoveFirst();
        var response = request.Response;
        Assert.False(Scheduler.Watchdog.TrySetDeadline(response));
        ParkWatchdog();

        // Flushes that come close together are worth its samples, unless this thread is held up between any two of so
        // many.
        for (var i = 0; i < 10_000 && !Watchdog.IsWoken; i++)
            Assert.False(Scheduler.Watchdog.TrySetDeadline(response));
        Assert.True(Watchdog.IsWoken);
        Watchdog.TakeWake();
        Watchdog.Step();

        Assert.True(Scheduler.Watchdog.TrySetDeadline(response));
        FrontEnd.Close();
        request.Execute();
    }

    private static async Task FlushAsync(HttpContext context)
    {
        await context.Response.Body.WriteAsync("part"u8.ToArray());
        await context.Response.Body.FlushAsync();
    }

    /// <summary>Takes a sample, and runs the threads that it makes send.</summary>
    private void Sample()
    {
        Scheduler.Watchdog.Sample();
        Platform.RunAll();
    }

    /// <summary>The sends after each sample of a call that has flushed.</summary>
    private List<int> CountSends(int samples)
    {
        var sends = new List<int>();
        Application = async context =>
        {
            await FlushAsync(context);
            for (var i = sends.Count; i < samples; i++)
            {
                Sample();
                sends.Add(SendCount);
            }
        };

        Run(RecordBytes.Get(1), RecordBytes.Get(2, "/other1"));
        return sends.Take(samples).ToList();
    }
}
