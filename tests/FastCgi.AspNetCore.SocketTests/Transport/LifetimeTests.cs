namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Disconnects and their notifications, on every engine.</summary>
public sealed class LifetimeTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task CloseOrReset_WhileTheHandlerRuns_CancelsIt(TransportSetup setup)
    {
        await AssertCancelsAsync(setup, static connection => connection.Dispose());
        await AssertCancelsAsync(setup, static connection => connection.Reset());
    }

    /// <summary>nginx repeats a request that it has sent to a connection that was reset before.</summary>
    [Fact]
    public async Task Stop_ConnectionIsIdle_IsReset()
    {
        await using var server = await TransportServer.StartAsync(
            new TransportSetup(Engine.Epoll, IsUnix: false), static app => app.MapGet("/", static () => "served"));
        using var connection = await server.ConnectAsync();
        Assert.Equal("served", await connection.GetAsync("/"));

        await server.StopAsync();

        var error = await Assert.ThrowsAsync<IOException>(() => connection.ReadRecordAsync());
        Assert.Equal(SocketError.ConnectionReset, Assert.IsType<SocketException>(error.InnerException).SocketErrorCode);
    }

    /// <summary>The application may never read the rest, so no read would notice the end.</summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Close_WhileReceivingPauses_CancelsTheHandler(TransportSetup setup)
    {
        var begun = Waiting.Signal();
        var canceled = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapPost("/", async (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(canceled.SetResult);
                begun.SetResult();
                await canceled.Task;
            }),
            static options => options.Limits.MaxRequestBufferSize = 16 * 1024);
        var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Post(1, "/", new byte[60_000]));
        await begun.Task.Within("the handler");

        connection.Dispose();

        await canceled.Task.Within("the cancellation");
    }

    /// <summary>
    /// The answer to bytes that are not FastCGI may find the connection closed. The server checks at its end that no
    /// buffer is in use.
    /// </summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Close_AfterHttp_LeavesNoMemoryBehind(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup, static app => app.MapGet("/", static () => "served"));
        for (var i = 0; i < 1_000; i++)
        {
            using var connection = await server.ConnectAsync();
            await connection.SendAsync("GET / HTTP/1.1\r\n\r\n"u8.ToArray());
        }

        Assert.Equal("served", await server.GetAsync("/"));
    }

    private static async Task AssertCancelsAsync(TransportSetup setup, Action<FastCgiClient> leave)
    {
        var app = new WaitingApplication();
        await using var server = await TransportServer.StartAsync(setup, app.Map);
        var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get(uri: "/wait"));
        await app.Begun.Task.Within("the handler");

        leave(connection);

        await app.Canceled.Task.Within("the cancellation");
        using var next = await server.ConnectAsync();
        Assert.Equal("served", await next.GetAsync("/"));
    }

    private sealed class WaitingApplication
    {
        public TaskCompletionSource Begun { get; } = Waiting.Signal();

        public TaskCompletionSource Canceled { get; } = Waiting.Signal();

        public void Map(WebApplication app)
        {
            app.MapGet("/", static () => "served");
            app.MapGet("/wait", async (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(Canceled.SetResult);
                Begun.SetResult();
                await Canceled.Task;
            });
        }
    }
}
