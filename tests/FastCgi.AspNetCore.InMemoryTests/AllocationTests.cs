using FastCgi.AspNetCore.Benchmarks;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Managed memory per request, with an application that allocates nothing.</summary>
public sealed class AllocationTests
{
    private const int WarmUp = 2_000;
    private const int Requests = 1_000;

    // All objects of a request are created for it, so that a kept one cannot affect the next request.
    private const int MaxGet = 1_264;

    // The string ?a=b, which hardly repeats and so is not cached.
    private const int Query = 32;
    private const int MaxPost = 1_640;

    [Theory]
    [InlineData("/plaintext", MaxGet)]
    [InlineData("/plaintext?a=b", MaxGet + Query)]
    public void Get_OnAKeptConnection_AllocatesOneRequest(string uri, int max)
        => Assert.InRange(MeasurePerRequest(RecordBytes.Get(uri: uri)), 1, max);

    [Fact]
    public void Post_WithABodyThatIsRead_AllocatesOneRequestAndItsBody()
        => Assert.InRange(MeasurePerRequest(RecordBytes.Post(1, "/upload", new byte[1_024])), 1, MaxPost);

    private static long MeasurePerRequest(byte[] request)
    {
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { ApplicationScheduling = FastCgiApplicationScheduling.Inline },
            LinuxThreadPlatform.Create(NullLogger.Instance), TimeProvider.System, NullLogger.Instance);
        var server = ServerContext.Create(
            new FastCgiServerOptions(), new BenchmarkApplication(), NullLogger.Instance, TimeProvider.System,
            scheduler.Watchdog.TrySetDeadline);
        var connection = new FastCgiConnection(new ConnectionManager(server), new BenchmarkTransport());

        var queue = new RunQueue(static _ => BatchResult.Ended);
        var worker = new Worker(scheduler.Workers, scheduler) { Permit = Permit.Loop, Loop = queue };

        // Tiered compilation may still be running; its allocations are not the server's.
        Push(WarmUp);
        var least = long.MaxValue;
        for (var round = 0; round < 5; round++)
            least = Math.Min(least, Push(Requests));
        return least / Requests;

        long Push(int count)
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            for (var i = 0; i < count; i++)
            {
                var ready = new ReadyRequests();
                connection.OnReceived(request, ref ready);
                queue.Begin(ref ready, connection.Output);
                scheduler.RunBatch(worker, queue);
            }

            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }
}
