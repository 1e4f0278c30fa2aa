using FastCgi.AspNetCore.Benchmarks;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>What a request allocates on the managed heap: the server's own, with an application that allocates nothing.</summary>
public sealed class AllocationTests
{
    private const int WarmUp = 2_000;
    private const int Requests = 1_000;

    // What the application writes to and reads from is made for each request, so that one that is kept cannot touch the next.
    private const int BodyObject = 40;

    [Fact]
    public void Get_OnAKeptConnection_AllocatesItsBodyWriterOnly() => Assert.Equal(BodyObject, MeasurePerRequest(RecordBytes.Get(uri: "/plaintext?a=b")));

    [Fact]
    public void Post_WithABodyThatIsRead_AllocatesItsBodyReaderAndWriterOnly()
        => Assert.Equal(2 * BodyObject, MeasurePerRequest(RecordBytes.Post(1, "/upload", new byte[1_024])));

    private static long MeasurePerRequest(byte[] request)
    {
        var server = ServerContext.Create(new FastCgiServerOptions(), new BenchmarkApplication(), NullLogger.Instance, TimeProvider.System);
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { ApplicationScheduling = FastCgiApplicationScheduling.Inline },
            LinuxThreadPlatform.Create(NullLogger.Instance), TimeProvider.System, NullLogger.Instance);
        server.Runner = scheduler;
        server.Responses.Deadlines = scheduler.Watchdog;
        var connection = new FastCgiConnection(new ConnectionManager(server), new BenchmarkTransport());

        // Tiered compilation may not be over: what it allocates is not the server's.
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
                scheduler.Run(ref ready, connection.Output);
            }

            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }
}
