using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Transport.Harness;

/// <summary>A real application on a real socket, with a single loop. An unexpected error fails the test.</summary>
internal sealed class TransportServer : IAsyncDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly WebApplication _app;

    private TransportServer(
        TransportSetup setup, Action<FastCgiServerOptions>? configure, Action<WebApplicationBuilder>? build)
    {
        EndPoint = setup.CreateEndPoint(_folder.Path);
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Services.AddRoutingCore();
        builder.Services.AddSingleton<SocketTransportFactory>();
        builder.Services.AddSingleton<IConnectionListenerFactory, ForeignListenerFactory>();
        builder.Services.Configure<HostOptions>(static options => options.ShutdownTimeout = TimeSpan.FromSeconds(10));
        builder.Logging.AddProvider(Logs).SetMinimumLevel(LogLevel.Debug);
        builder.WebHost.UseFastCgi(options =>
        {
            options.Transport.LoopCount = 1;
            options.Limits.ShutdownIdleGracePeriod = TimeSpan.Zero;
            options.Listen(setup.Engine == Engine.Pipe ? new ForeignEndPoint(EndPoint) : EndPoint);
            configure?.Invoke(options);
        });
        build?.Invoke(builder);
        _app = builder.Build();
        ((FastCgiServer)_app.Services.GetRequiredService<IServer>()).UsesEpoll &= setup.Engine != Engine.Socket;
    }

    public EndPoint EndPoint { get; }

    public CollectedLogs Logs { get; } = new();

    public (int Connections, int Buffers) InUse
    {
        get
        {
            var connections = ((FastCgiServer)_app.Services.GetRequiredService<IServer>()).Connections!;
            return ((int)connections.Count, connections.Server.Buffers.RentedCount);
        }
    }

    public static async Task<TransportServer> StartAsync(
        TransportSetup setup,
        Action<WebApplication> map,
        Action<FastCgiServerOptions>? configure = null,
        Action<WebApplicationBuilder>? build = null)
    {
        var server = new TransportServer(setup, configure, build);
        map(server._app);
        await server._app.StartAsync();
        return server;
    }

    public Task<FastCgiClient> ConnectAsync() => FastCgiClient.ConnectAsync(EndPoint);

    /// <summary>The body of a response, on a new connection.</summary>
    public async Task<string> GetAsync(string uri)
    {
        using var connection = await ConnectAsync();
        return await connection.GetAsync(uri);
    }

    public Task StopAsync(CancellationToken cancellationToken = default) => _app.StopAsync(cancellationToken);

    public async ValueTask DisposeAsync()
    {
        await _app.StopAsync();
        // The system may report the end of a send after the connection has closed.
        await Waiting.UntilAsync(() => InUse.Buffers == 0, "all buffers to be returned");
        await _app.DisposeAsync();
        _folder.Dispose();
        Assert.Empty(Logs.UnexpectedErrors);
        Assert.Null(Invariants.FirstViolation);
    }
}
