namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>A connection is refused while the log provider blocks.</summary>
public sealed class RefusedConnectionTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task LogProvider_Blocks_DelaysNoConnection(TransportSetup setup)
    {
        var isBlocking = Waiting.Signal();
        using var released = new ManualResetEventSlim();
        using var provider = new ActingLogs("ConnectionRejected", () =>
        {
            isBlocking.TrySetResult();
            released.Wait();
        });
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.Services.GetRequiredService<ILoggerFactory>().AddProvider(provider);
                app.MapGet("/{token}", static (string token) => token);
            },
            static options => options.Limits.MaxConcurrentConnections = 1);
        using var connection = await server.ConnectAsync();
        Assert.Equal("before", await connection.GetAsync("/before"));

        // A transport may reset it.
        await Record.ExceptionAsync(async () =>
        {
            using var refused = await server.ConnectAsync();
            await refused.ReadToEndAsync();
        });
        await isBlocking.Task.Within("the log");

        try
        {
            Assert.Equal("meanwhile", await connection.GetAsync("/meanwhile"));
        }
        finally
        {
            released.Set();
        }
    }
}
