using System.Net;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
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
        var server = ServerContext.Create(new FastCgiServerOptions(), new Application(), NullLogger.Instance, TimeProvider.System);
        var scheduler = new RequestScheduler(
            new FastCgiTransportOptions { ApplicationScheduling = FastCgiApplicationScheduling.Inline },
            LinuxThreadPlatform.Create(NullLogger.Instance), TimeProvider.System, NullLogger.Instance);
        server.Runner = scheduler;
        server.Responses.Deadlines = scheduler.Watchdog;
        var connection = new FastCgiConnection(new ConnectionManager(server), new Sink());

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

    private sealed class Application : IHttpApplication<IFeatureCollection>
    {
        private static readonly byte[] s_hello = "Hello, world!"u8.ToArray();

        public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

        public Task ProcessRequestAsync(IFeatureCollection context)
        {
            var request = context.Get<IHttpRequestFeature>()!;
            if (HttpMethods.IsPost(request.Method))
            {
                var body = context.Get<IRequestBodyPipeFeature>()!.Reader;
                if (!body.TryRead(out var result) || result.Buffer.Length != 1_024)
                    throw new InvalidOperationException("The body is not there.");
                body.AdvanceTo(result.Buffer.End);
            }

            context.Get<IHttpResponseFeature>()!.Headers.ContentType = "text/plain";
            var write = context.Get<IHttpResponseBodyFeature>()!.Writer.WriteAsync(s_hello);
            return write.IsCompletedSuccessfully ? Task.CompletedTask : throw new InvalidOperationException("The write waits.");
        }

        public void DisposeContext(IFeatureCollection context, Exception? exception)
        {
            if (exception is not null)
                throw exception;
        }
    }

    /// <summary>Takes what is sent, and drops it.</summary>
    private sealed class Sink : ConnectionTransport
    {
        public override EndPoint? RemoteEndPoint => null;

        public override bool CanReset => true;

        public override bool Send(BufferBlock chain) => true;

        public override void Close() => throw new InvalidOperationException("The connection is kept.");

        public override void Reset() => throw new InvalidOperationException("Nothing goes wrong here.");

        public override void ResumeReceiving()
        {
        }
    }
}
