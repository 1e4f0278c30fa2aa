using System.Net.Sockets;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using FastCgi.AspNetCore.Transport.Epoll;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A send that meets the close of its connection, on real sockets: no block of the pool is lost, and no descriptor.</summary>
public class AbortedDownloadTests
{
    private const int Clients = 8;
    private const int Downloads = 250;

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Downloads_ClosedInTheMiddleOnEpoll_GiveAllBlocksBack()
    {
        await using var server = await StartAsync();
        var engine = new EpollEngine(server.Connections, server.Scheduler);
        engine.Start();
        var path = SocketPath();
        var listener = engine.Listen(Listen(path));
        await RunAsync(server, listener, path);
        engine.Stop();
    }

    [Fact]
    public async Task Downloads_ClosedInTheMiddleOnSocket_GiveAllBlocksBack()
    {
        await using var server = await StartAsync();
        var path = SocketPath();
        await RunAsync(server, SocketListener.Create(Listen(path), server.Connections, server.Scheduler), path);
    }

    private static Task<TestServer> StartAsync() => TestServer.StartAsync(
        static async context =>
        {
            // The end of the connection is met by a thread of the pool that sends.
            await Task.Yield();
            var block = new byte[60_000];
            for (var i = 0; i < 30 && !context.RequestAborted.IsCancellationRequested; i++)
                await context.Response.Body.WriteAsync(block);
        },
        static options => options.Transport.LoopCount = 1);

    private static async Task RunAsync(TestServer server, TransportListener listener, string path)
    {
        listener.Start();
        await Task.WhenAll(Enumerable.Range(0, Clients).Select(seed => Task.Run(() => DownloadAsync(path, new Random(seed))))).WaitAsync(s_patience);

        // Handlers that have met the end return in a moment.
        var buffers = server.Context.Buffers;
        Assert.True(SpinWait.SpinUntil(() => server.Connections.Count == 0 && buffers.RentedCount == 0, s_patience), $"{buffers.RentedCount} blocks are lost.");
        await listener.StopAsync(default).WaitAsync(s_patience);
        await server.StopAsync(new CancellationToken(canceled: true)).WaitAsync(s_patience);
        File.Delete(path);
    }

    private static async Task DownloadAsync(string path, Random random)
    {
        var buffer = new byte[200_000];
        for (var i = 0; i < Downloads; i++)
        {
            using var client = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            await client.ConnectAsync(new UnixDomainSocketEndPoint(path));
            await client.SendAsync(RecordBytes.Get());
            for (var reads = random.Next(4); reads > 0; reads--)
                await client.ReceiveAsync(buffer);
        }
    }

    private static string SocketPath() => Path.Combine(Path.GetTempPath(), $"{Guid.NewGuid():n}.sock");

    private static ListeningSocket Listen(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(path));
        socket.Listen();
        return new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };
    }
}
