using FastCgi.AspNetCore.Transport.Epoll;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A send that meets the close of its connection, on real sockets: no block of the pool is lost, and no descriptor.</summary>
[SupportedOSPlatform("linux")]
public class AbortedDownloadTests
{
    private const int Clients = 8;
    private const int Downloads = 250;

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    [Theory, Values(true, false)]
    public async Task Downloads_ClosedInTheMiddle_GiveAllBlocksBack(bool isEpoll)
    {
        await using var server = await StartAsync();
        var socket = Epoll.LoopByHand.ListenUnix();
        var listening = new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };
        var engine = isEpoll ? new EpollEngine(server.Connections, server.Scheduler) : null;
        engine?.Start();
        TransportListener listener = engine is null ? SocketListener.Create(listening, server.Connections, server.Scheduler) : engine.Listen(listening);
        listener.Start();
        var downloads = Enumerable.Range(0, Clients).Select(seed => Task.Run(() => DownloadAsync(listening.EndPoint, new Random(seed))));
        await Task.WhenAll(downloads).WaitAsync(s_patience);

        // Handlers that have met the end return in a moment.
        var buffers = server.Context.Buffers;
        Assert.True(SpinWait.SpinUntil(() => server.Connections.Count == 0 && buffers.RentedCount == 0, s_patience), $"{buffers.RentedCount} blocks are lost.");
        await listener.StopAsync(default).WaitAsync(s_patience);
        await server.StopAsync(new CancellationToken(canceled: true)).WaitAsync(s_patience);
        engine?.Stop();
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

    private static async Task DownloadAsync(EndPoint endPoint, Random random)
    {
        var buffer = new byte[200_000];
        for (var i = 0; i < Downloads; i++)
        {
            using var client = Epoll.LoopByHand.Connect(endPoint);
            await client.SendAsync(RecordBytes.Get());
            for (var reads = random.Next(4); reads > 0; reads--)
                await client.ReceiveAsync(buffer);
        }
    }
}
