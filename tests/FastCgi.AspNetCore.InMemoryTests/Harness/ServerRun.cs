namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The server in its host, with a virtual clock and an endpoint that only the test connects to.</summary>
internal sealed class ServerRun : IAsyncDisposable
{
    private ServerRun(IHost host, CollectedLogs logs, FakeClock clock)
    {
        Host = host;
        Logs = logs;
        Clock = clock;
    }

    public IHost Host { get; }

    public CollectedLogs Logs { get; }

    public FakeClock Clock { get; }

    public FastCgiServer Server => (FastCgiServer)Host.Services.GetRequiredService<IServer>();

    public StatusReader Reader => StatusEndpoint.MakeReader(Server, Host.Services);

    /// <summary>The current status.</summary>
    public StatusSnapshot Status => Reader.Read()!;

    public static async Task<ServerRun> StartAsync(
        RequestDelegate application,
        Action<FastCgiServerOptions>? configure = null,
        Action<IServiceCollection>? services = null,
        string environment = "Production")
    {
        var run = Make(application, configure, services, environment);
        await run.Host.StartAsync();
        return run;
    }

    /// <summary>A server that has not started.</summary>
    public static ServerRun Make(
        RequestDelegate application,
        Action<FastCgiServerOptions>? configure = null,
        Action<IServiceCollection>? services = null,
        string environment = "Production",
        bool hasEndpoint = true)
    {
        var logs = new CollectedLogs();
        var clock = new FakeClock();
        var host = new HostBuilder()
            .ConfigureLogging(logging => logging.AddProvider(logs).SetMinimumLevel(LogLevel.Debug))
            .ConfigureWebHost(web => web
                .UseSetting(WebHostDefaults.ApplicationKey, typeof(ServerRun).Assembly.GetName().Name)
                .UseEnvironment(environment)
                .ConfigureServices(collection => collection.AddSingleton(
                    new ServerTime(clock)).AddSingleton<IConnectionListenerFactory, TestListenerFactory>())
                .UseFastCgi(options =>
                {
                    options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Inline;
                    if (hasEndpoint)
                        options.Listen(new NamedEndPoint("nobody"));
                    configure?.Invoke(options);
                })
                .ConfigureServices(collection => services?.Invoke(collection))
                .Configure(app => app.Run(application)))
            .Build();
        return new ServerRun(host, logs, clock);
    }

    /// <summary>Opens a connection, as a web server does.</summary>
    public FrontEnd Connect() => new(new MemoryTransport(Server.Connections!), Server.Scheduler!);

    public async ValueTask DisposeAsync()
    {
        await Host.StopAsync(new CancellationToken(canceled: true));
        Host.Dispose();
        Assert.Empty(Logs.UnexpectedErrors);
    }
}
