namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Threads that go on when the test says so, of which two may be reserved, and one loop.</summary>
public abstract class WorkerPoolTest
{
    private protected const int MaxThreads = 2;

    private protected WorkerPoolTest()
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxBlockingThreads = MaxThreads };
        Scheduler = new RequestScheduler(options, Platform, TimeProvider.System, NullLogger.Instance);
    }

    private protected SteppedPlatform Platform { get; } = new();

    private protected RequestScheduler Scheduler { get; }

    private protected WorkerPool Workers => Scheduler.Workers;

    private protected void ReserveAll()
    {
        for (var i = 0; i < MaxThreads; i++)
            Assert.True(Workers.TryReserve());
    }

    private protected static (FrontEnd FrontEnd, ReadyRequests Ready) Receive(TestServer server)
    {
        var frontEnd = server.Connect();
        return (frontEnd, frontEnd.Receive(RecordBytes.Get()));
    }

    /// <summary>Lets each thread do what there is to do, once.</summary>
    private protected void Step()
    {
        for (var i = 0; i < Platform.Started.Count; i++)
        {
            while (Platform.Started[i].Step() == TimeSpan.Zero)
            {
            }
        }
    }
}
