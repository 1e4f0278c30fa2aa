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
        var (begun, canceled) = (Waiting.Signal(), Waiting.Signal());
        await using var server = await TransportServer.StartAsync(setup, app =>
        {
            app.MapGet("/", static () => "served");
            app.MapGet("/wait", async (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(canceled.SetResult);
                begun.SetResult();
                await canceled.Task;
            });
        });
        var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get(uri: "/wait"));
        await begun.Task.Within("the handler");

        leave(connection);

        await canceled.Task.Within("the cancellation");
        Assert.Equal("served", await server.GetAsync("/"));
    }
}
