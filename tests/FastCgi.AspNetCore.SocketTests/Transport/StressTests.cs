namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// Many connections with concurrent stalls, aborts, resets, and splits. Each response carries its request's token, so
/// that a lost or mixed-up one is detected. FASTCGI_STRESS_SECONDS prolongs it.
/// </summary>
[Collection(Alone.Name)]
public sealed class StressTests
{
    private const int Connections = 24;
    private const int RequestsOfAConnection = 60;

    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Requests_WithFaults_EachHasItsResponse(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup, Map, build: static builder => builder.Logging.SetMinimumLevel(LogLevel.Warning));
        var seconds = int.Parse(
            Environment.GetEnvironmentVariable("FASTCGI_STRESS_SECONDS") ?? "0", CultureInfo.InvariantCulture);
        var end = TimeProvider.System.GetTimestamp() + (seconds * TimeProvider.System.TimestampFrequency);
        await RunAllAsync();
        var descriptors = await SettleAsync(server);
        do
            await RunAllAsync();
        while (TimeProvider.System.GetTimestamp() < end);
        Assert.InRange(await SettleAsync(server), 0, descriptors);

        Task RunAllAsync()
            => Task.WhenAll(
                Enumerable.Range(0, Connections).Select(i => Task.Run(() => RunAsync(server, new Random(i)))));
    }

    /// <summary>Waits until the server has no connection left, and with it no buffer in use.</summary>
    /// <returns>
    /// The number of sockets, epoll, and event descriptors of the process. Files do not count, because the runtime
    /// keeps assemblies open.
    /// </returns>
    private static async Task<int> SettleAsync(TransportServer server)
    {
        await Waiting.UntilAsync(() => server.InUse == (0, 0), "all connections to end and all buffers to be returned");
        return new DirectoryInfo("/proc/self/fd")
            .EnumerateFileSystemInfos()
            .Count(
                static descriptor => descriptor.LinkTarget is { } target
                    && target.Contains(":["));
    }

    private static async Task RunAsync(TransportServer server, Random random)
    {
        var connection = await server.ConnectAsync();
        for (var i = 0; i < RequestsOfAConnection; i++)
        {
            var token = $"{random.NextInt64():x}";
            switch (random.Next(12))
            {
                case 0:
                    await connection.SendAsync(RecordBytes.Get(uri: $"/hold/{token}"));
                    connection.Reset();
                    connection = await server.ConnectAsync();
                    break;
                case 1:
                    await connection.SendAsync([.. RecordBytes.Get(uri: $"/hold/{token}"), .. RecordBytes.Abort()]);
                    await connection.ReadResponseAsync();
                    break;
                case 2:
                    await connection.SendAsync(
                        RecordBytes.Post(1, $"/echo/{token}", new byte[200_000])[..random.Next(1_000, 150_000)]);
                    connection.Dispose();
                    connection = await server.ConnectAsync();
                    break;
                case 3:
                    await CheckAsync(connection, RecordBytes.Get(uri: $"/block/{token}"), token, split: 0);
                    break;
                case 4:
                    await CheckAsync(
                        connection,
                        RecordBytes.Post(1, $"/echo/{token}", new byte[random.Next(200_000)]),
                        token,
                        split: 0);
                    break;
                case 5:
                    var request = RecordBytes.Get(uri: $"/get/{token}");
                    await CheckAsync(connection, request, token, random.Next(1, request.Length));
                    break;
                default:
                    await CheckAsync(
                        connection,
                        RecordBytes.Get(uri: $"/{(random.Next(2) == 0 ? "get" : "yield")}/{token}"),
                        token,
                        split: 0);
                    break;
            }
        }

        connection.Dispose();
    }

    private static async Task CheckAsync(FastCgiClient connection, byte[] request, string token, int split)
    {
        if (split > 0)
            await connection.SendAsync(request[..split]);
        await connection.SendAsync(request[split..]);
        Assert.Equal(token, Encoding.ASCII.GetString(await connection.ReadBodyAsync()));
    }

    private static void Map(WebApplication app)
    {
        app.MapGet("/get/{token}", static (string token) => token);
        app.MapGet("/yield/{token}", static async (string token) =>
        {
            await Task.Yield();
            return token;
        });
        app.MapGet("/block/{token}", static (string token) =>
        {
            // Blocks until the thread pool runs a work item.
            using var done = new ManualResetEventSlim();
            ThreadPool.QueueUserWorkItem(static done => done.Set(), done, preferLocal: false);
            done.Wait();
            return token;
        });
        app.MapPost("/echo/{token}", static async (string token, HttpRequest request) =>
        {
            await request.Body.CopyToAsync(Stream.Null);
            return token;
        });
        app.MapGet("/hold/{token}", static async (HttpContext context) =>
        {
            var held = Waiting.Signal();
            await using var registration = context.RequestAborted.Register(held.SetResult);
            await held.Task;
        });
    }
}
