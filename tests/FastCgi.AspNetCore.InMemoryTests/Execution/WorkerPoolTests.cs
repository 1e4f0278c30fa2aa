using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>How many threads there are, and who gets one.</summary>
public class WorkerPoolTests
{
    private const int MaxThreads = 2;

    private readonly SteppedPlatform _platform = new();
    private readonly RequestScheduler _scheduler;
    private readonly WorkerPool _workers;

    public WorkerPoolTests()
    {
        var options = new FastCgiTransportOptions { LoopCount = 1, MaxApplicationThreads = MaxThreads };
        _scheduler = new RequestScheduler(options, _platform, TimeProvider.System, NullLogger.Instance);
        _workers = _scheduler.Workers;
    }

    [Fact]
    public void EnsureSpare_SeveralTimes_StartsOne()
    {
        for (var i = 0; i < 5; i++)
            _workers.EnsureSpare();

        Step();
        _workers.EnsureSpare();

        Assert.Single(_platform.Started);
    }

    [Fact]
    public void Run_QueueWithIdleThread_WakesIt()
    {
        _workers.EnsureSpare();
        Step();
        var queue = new TestQueue();

        _workers.Run(queue);

        Assert.True(Assert.Single(_platform.Started).IsWoken);
        Step();
        Assert.Equal(1, queue.ContinueCount);
    }

    [Fact]
    public void Run_QueueThatIsTaken_ReservationIsReleasedWhenItsThreadComesBack()
    {
        var queue = new TestQueue();
        queue.OnContinue = () =>
        {
            Assert.True(_workers.TryReserve());
            return false;
        };

        _workers.Run(queue);
        Step();

        Assert.Equal(0, _workers.ReservedCount);
    }

    [Fact]
    public void Run_QueueThatEnds_ReleasesNothing()
    {
        _workers.Run(new TestQueue());
        Step();

        Assert.Equal(0, _workers.ReservedCount);
    }

    [Fact]
    public async Task Run_RequestsBeyondTheLimit_WaitForThreads()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        for (var i = 0; i < MaxThreads; i++)
            Assert.True(_workers.TryReserve());
        var (frontEnd, ready) = Receive(server);

        _workers.Run(ready.RemoveFirst());
        Step();
        Assert.Equal(1, _workers.WaitingCount);

        _workers.Release();
        _workers.OnLooked();
        Step();

        Assert.Equal(0, _workers.WaitingCount);
        Assert.Equal(MaxThreads - 1, _workers.ReservedCount);
        await frontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task Release_WithAStalledQueueAndARequestThatWait_IsForTheQueue()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        for (var i = 0; i < MaxThreads; i++)
            Assert.True(_workers.TryReserve());
        Assert.False(_workers.TryReserve());
        var (frontEnd, ready) = Receive(server);
        _workers.Run(ready.RemoveFirst());

        _workers.Release();
        Step();

        Assert.Equal(1, _workers.WaitingCount);
        Assert.True(_workers.TryReserve());
        _workers.Release();
        // The queue does not want it any more.
        _workers.OnLooked();
        Step();
        Assert.Equal(0, _workers.WaitingCount);
        await frontEnd.ReadResponseAsync();
    }

    [Fact]
    public void Run_QueueAndTheSystemHasNoThread_GoesOnOnTheThreadPool()
    {
        _platform.HasThreads = false;
        var queue = new TestQueue();

        _workers.Run(queue);

        var guest = Assert.Single(_platform.OnThreadPool);
        Assert.Equal(TimeSpan.Zero, guest.Step());
        Assert.Equal(TimeSpan.Zero, guest.Step());
        Assert.Equal(1, queue.ContinueCount);
        Assert.Null(guest.Step());
        Assert.Equal(0, _workers.Count);
    }

    [Fact]
    public async Task Run_RequestAndTheSystemHasNoThreadAtAll_RunsOnTheThreadPool()
    {
        await using var server = await TestServer.StartAsync(static _ => Task.CompletedTask);
        _platform.HasThreads = false;
        var (frontEnd, ready) = Receive(server);

        _workers.Run(ready.RemoveFirst());

        while (Assert.Single(_platform.OnThreadPool).Step() is not null)
        {
        }

        await frontEnd.ReadResponseAsync();
        Assert.Equal(0, _workers.ReservedCount);
    }

    [Fact]
    public void Threads_Idle_RetireButTheLast()
    {
        _workers.Run(new TestQueue());
        _workers.Run(new TestQueue());
        Step();
        Assert.Equal(2, _workers.Count);

        Assert.Null(_platform.Started[0].Step());
        Assert.Equal(Worker.IdleTime, _platform.Started[1].Step());
        Assert.Equal(1, _workers.Count);

        _workers.Stop();
        _workers.Stop();
        Assert.Null(_platform.Started[1].Step());
    }

    private static (FrontEnd FrontEnd, ReadyRequests Ready) Receive(TestServer server)
    {
        var frontEnd = server.Connect();
        var ready = new ReadyRequests();
        frontEnd.Transport.Connection.OnReceived(RecordBytes.Get(), ref ready);
        return (frontEnd, ready);
    }

    /// <summary>Lets each thread do what there is to do, once.</summary>
    private void Step()
    {
        for (var i = 0; i < _platform.Started.Count; i++)
        {
            while (_platform.Started[i].Step() == TimeSpan.Zero)
            {
            }
        }
    }
}
