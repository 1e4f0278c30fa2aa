using FastCgi.AspNetCore.Advice;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A whole server without sockets: real hosting, the test's application, and connections into which bytes are pushed.
/// Its disposal fails the test if an unexpected error was logged, or if a buffer, slot, or connection was not released.
/// </summary>
internal sealed class TestServer : IAsyncDisposable
{
    private readonly IHost _host;
    private readonly MemoryServer _server;
    private readonly ConcurrentBag<MemoryTransport> _transports = [];

    private TestServer(IHost host)
    {
        _host = host;
        _server = (MemoryServer)host.Services.GetRequiredService<IServer>();
    }

    public CollectedLogs Logs { get; private init; } = null!;

    public FakeClock Clock { get; private init; } = null!;

    public ConnectionManager Connections => _server.Connections;

    public RequestScheduler Scheduler => _server.Scheduler;

    /// <summary>Loops for connections over pipes, with threads of the scheduler.</summary>
    public Engine Engine => _server.Engine.Value;

    public OperatorAdvisor Advisor => _server.Advisor;

    public ServerContext Context => _server.Context;

    /// <summary>Uncorks responses in time: the watchdog, unless a test chooses otherwise.</summary>
    public Func<FastCgiResponse, bool> Deadlines
    {
        set => _server.Deadlines.TrySet = value;
    }

    /// <summary>The limit of descriptors of the process.</summary>
    public Func<long> GetMaxDescriptors
    {
        set => _server.GetMaxDescriptors = value;
    }

    /// <summary>How often the server has decided to exit because it was idle.</summary>
    public int IdleCount => _server.IdleCount;

    public IServiceProvider Services => _host.Services;

    public static Task<TestServer> StartAsync(
        RequestDelegate application,
        Action<FastCgiServerOptions>? configure = null,
        string? expects = null,
        string[]? statusPaths = null,
        Advisor? advisor = null)
        => StartAsync(
            app => app.Run(application), configure, expects: expects, statusPaths: statusPaths, advisor: advisor);

    public static async Task<TestServer> StartAsync(
        Action<IApplicationBuilder> pipeline,
        Action<FastCgiServerOptions>? configure = null,
        Action<IServiceCollection>? services = null,
        string? expects = null,
        string[]? statusPaths = null,
        Advisor? advisor = null)
    {
        var logs = new CollectedLogs();
        if (expects is not null)
            logs.Expected.Add(expects);
        var clock = new FakeClock();
        // On the thread that pushes the bytes, so that a test without an await need not wait.
        var options =
            new FastCgiServerOptions { Transport = { ApplicationScheduling = FastCgiApplicationScheduling.Inline } };
        // A thread that has just sent but has not yet reported it would be overdue as soon as a test advances the
        // clock.
        options.Limits.SendTimeout = null;
        configure?.Invoke(options);
        var host = new HostBuilder()
            .ConfigureLogging(logging => logging.AddProvider(logs).SetMinimumLevel(LogLevel.Debug))
            .ConfigureWebHost(web => web
                .ConfigureServices(collection =>
                {
                    services?.Invoke(collection);
                    collection.AddSingleton<IServer>(provider => new MemoryServer(
                        options, provider.GetRequiredService<ILoggerFactory>(), clock, statusPaths, advisor));
                })
                .Configure(pipeline))
            .Build();
        await host.StartAsync();
        return new TestServer(host) { Logs = logs, Clock = clock };
    }

    /// <summary>Starts a server for one connection, with which it ends.</summary>
    public static Task<FrontEnd> ConnectAsync(
        RequestDelegate application, Action<FastCgiServerOptions>? configure = null, string? expects = null)
        => ConnectAsync(app => app.Run(application), configure, expects: expects);

    public static async Task<FrontEnd> ConnectAsync(
        Action<IApplicationBuilder> pipeline,
        Action<FastCgiServerOptions>? configure = null,
        Action<IServiceCollection>? services = null,
        string? expects = null)
        => (await StartAsync(pipeline, configure, services, expects)).Connect();

    /// <summary>Gets the response to one request. An exception of the application fails the test.</summary>
    public static Task<WireResponse> AskAsync(RequestDelegate application, params byte[][] request)
        => AskAsync(application, configure: null, request);

    public static async Task<WireResponse> AskAsync(
        RequestDelegate application, Action<FastCgiServerOptions>? configure, params byte[][] request)
    {
        await using var frontEnd = await ConnectAsync(application, configure);
        return await frontEnd.AskAsync(request);
    }

    /// <summary>Opens a connection, as a web server does.</summary>
    public FrontEnd Connect()
    {
        var transport = new MemoryTransport(Connections);
        _transports.Add(transport);
        return new FrontEnd(transport, _server.Scheduler) { Server = this };
    }

    /// <summary>Opens a connection for a GET.</summary>
    public FrontEnd Send(string uri = "/")
    {
        var frontEnd = Connect();
        frontEnd.Send(RecordBytes.Get(uri: uri));
        return frontEnd;
    }

    public Task StopAsync(CancellationToken cancellationToken = default) => Connections.StopAsync(cancellationToken);

    /// <summary>Lets seconds pass until a condition holds.</summary>
    public Task AdvanceUntilAsync(Func<bool> condition, string what) => Waiting.UntilAsync(
        () =>
        {
            Clock.Advance(TimeSpan.FromSeconds(1));
            return condition();
        },
        what);

    public async ValueTask DisposeAsync()
    {
        // A test that fails while a request runs must not wait for it: the clock stands still.
        await _host.StopAsync().Within("the stop of the server");
        AssertNoError();
        await AssertNothingIsRentedAsync();
        await AssertNothingIsUsedAsync();
        // Again, because the last steps may have failed.
        AssertNoError();
        _host.Dispose();
    }

    /// <summary>
    /// The requests that have left a connection, and whose application has not finished. While the connection ends on
    /// another thread, it may count as one of them.
    /// </summary>
    public static int CountUnfinished(FastCgiConnection connection)
    {
        var seen = connection.Describe();
        return GetUses(connection) - seen.Active - (seen.State == "closed" ? 0 : 1);
    }

    /// <summary>Aborted requests end on the thread pool, and held sends end with their connection.</summary>
    public async Task AssertNothingIsRentedAsync()
    {
        foreach (var transport in _transports)
            transport.ReleaseSend(continues: false);

        await Waiting.UntilAsync(() => Context.Buffers.RentedCount == 0, "all buffers to be returned");
    }

    /// <summary>No request is left on a connection, nor in the queue, nor a connection.</summary>
    private async Task AssertNothingIsUsedAsync()
    {
        await Waiting.UntilAsync(
            () => _transports.All(
            static transport => transport.Connection is null || CountUnfinished(transport.Connection) == 0),
            "all requests to end");
        await Waiting.UntilAsync(() => Connections.Count == 0, "all connections to end");
        Assert.Equal(0, Context.Admission.QueuedCount);
        Assert.Equal((0, 0), Context.Admission.TakenCount);
        Assert.Equal(0, Connections.CountRequests());
        Assert.All(_transports, static transport => Assert.Equal(0, transport.Connection.GetTotals().Active));
    }

    private void AssertNoError()
    {
        var errors = Logs.UnexpectedErrors.Select(
            static log => $"{log.Level} {log.EventName}: {log.Message} {log.Exception}").ToList();
        Assert.True(errors.Count == 0, string.Join(Environment.NewLine, errors));
        Assert.Null(Invariants.FirstViolation);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_uses")]
    private static extern ref int GetUses(FastCgiConnection connection);

    private sealed class MemoryServer(
        FastCgiServerOptions options, ILoggerFactory loggerFactory, FakeClock clock, string[]? statusPaths,
        Advisor? advisor) : IServer
    {
        public ServerContext Context { get; private set; } = null!;

        public ChosenDeadlines Deadlines { get; } = new();

        public ConnectionManager Connections { get; private set; } = null!;

        public RequestScheduler Scheduler { get; private set; } = null!;

        public Lazy<Engine> Engine { get; private set; } = null!;

        public OperatorAdvisor Advisor { get; private set; } = null!;

        public int IdleCount { get; private set; }

        public Func<long> GetMaxDescriptors { get; set; } = static () => int.MaxValue;

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull
        {
            var log = loggerFactory.CreateLogger("FastCgi.AspNetCore");
            Scheduler = new RequestScheduler(
                options.Transport, LinuxThreadPlatform.Create(log), TimeProvider.System, log);
            Deadlines.TrySet = Scheduler.Watchdog.TrySetDeadline;
            Advisor = new OperatorAdvisor(new EventJournal(log, clock), clock);
            Context = ServerContext.Create(
                options,
                application,
                new EventJournal(log, clock),
                clock,
                Deadlines.TrySetDeadline,
                () => GetMaxDescriptors(),
                advisor ?? Advisor,
                statusPaths);
            Connections = new ConnectionManager(Context);
            Engine = new Lazy<Engine>(() =>
            {
                var engine = new Engine(
                    Connections, Scheduler, static log => new InboxLoop(log));
                engine.Start();
                return engine;
            });
            // Without its watchdog, which uses real time: tests that need a sample call it.
            Connections.Start(() => IdleCount++);
            return Task.CompletedTask;
        }

        public async Task StopAsync(CancellationToken cancellationToken)
        {
            await Connections.StopAsync(new CancellationToken(canceled: true));
            if (Engine.IsValueCreated)
                Engine.Value.Stop();
            Scheduler.Stop();
        }

        public void Dispose()
        {
        }
    }
}
