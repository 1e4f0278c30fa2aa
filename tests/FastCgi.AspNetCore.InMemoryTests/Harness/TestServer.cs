using System.Collections.Concurrent;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A whole server without sockets: real hosting, an application of the test's, and connections that are pushed bytes. Disposing it
/// fails the test if an error was logged that it did not expect, or if buffers were not given back.
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

    public ServerContext Context => _server.Connections.Server;

    /// <summary>How often the server has found that it may exit.</summary>
    public int IdleCount => _server.IdleCount;

    public IServiceProvider Services => _host.Services;

    public static Task<TestServer> StartAsync(RequestDelegate application, Action<FastCgiServerOptions>? configure = null)
        => StartAsync(app => app.Run(application), configure);

    public static async Task<TestServer> StartAsync(
        Action<IApplicationBuilder> pipeline, Action<FastCgiServerOptions>? configure = null, Action<IServiceCollection>? services = null)
    {
        var logs = new CollectedLogs();
        var clock = new FakeClock();
        // On the thread that pushes the bytes, so that a test that sees no await need not wait.
        var options = new FastCgiServerOptions { Transport = { ApplicationScheduling = FastCgiApplicationScheduling.Inline } };
        configure?.Invoke(options);
        var host = new HostBuilder()
            .ConfigureLogging(logging => logging.AddProvider(logs).SetMinimumLevel(LogLevel.Debug))
            .ConfigureWebHost(web => web
                .ConfigureServices(collection =>
                {
                    services?.Invoke(collection);
                    collection.AddSingleton<IServer>(provider => new MemoryServer(options, provider.GetRequiredService<ILoggerFactory>(), clock));
                })
                .Configure(pipeline))
            .Build();
        await host.StartAsync();
        return new TestServer(host) { Logs = logs, Clock = clock };
    }

    /// <summary>Opens a connection, as a web server does.</summary>
    public FrontEnd Connect()
    {
        var transport = new MemoryTransport();
        _transports.Add(transport);
        var connection = new FastCgiConnection(Connections, transport);
        Assert.True(Connections.TryAdd(connection), "The connection was rejected.");
        return new FrontEnd(transport, connection, _server.Scheduler);
    }

    /// <summary>Stops as a host does.</summary>
    public Task StopAsync(CancellationToken cancellationToken = default) => Connections.StopAsync(cancellationToken);

    public async ValueTask DisposeAsync()
    {
        await _host.StopAsync();
        var errors = Logs.UnexpectedErrors.Select(static log => $"{log.Level} {log.EventName}: {log.Message} {log.Exception}").ToList();
        Assert.True(errors.Count == 0, string.Join(Environment.NewLine, errors));
        Assert.Null(Invariants.FirstViolation);
        await AssertNothingIsRentedAsync();
        _host.Dispose();
    }

    /// <summary>Requests that were aborted end on the thread pool, and sends that a test holds are over with their connection.</summary>
    public async Task AssertNothingIsRentedAsync()
    {
        foreach (var transport in _transports)
            transport.ReleaseSend(goesOn: false);

        await Waiting.UntilAsync(() => Context.Buffers.RentedCount == 0, "all buffers to be returned");
    }

    private sealed class MemoryServer(FastCgiServerOptions options, ILoggerFactory loggerFactory, FakeClock clock) : IServer
    {
        public ConnectionManager Connections { get; private set; } = null!;

        public RequestScheduler Scheduler { get; private set; } = null!;

        public int IdleCount { get; private set; }

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull
        {
            var log = loggerFactory.CreateLogger("FastCgi.AspNetCore");
            var server = ServerContext.Create(options, application, log, clock);
            Connections = new ConnectionManager(server);
            Scheduler = new RequestScheduler(options.Transport, LinuxThreadPlatform.Create(server.Log), TimeProvider.System, server.Log);
            server.Runner = Scheduler;
            server.Responses.Deadlines = Scheduler.Watchdog;
            // Without its watchdog, which goes by the time that passes: tests that want a look call it.
            Connections.Start(() => IdleCount++);
            return Task.CompletedTask;
        }

        public async Task StopAsync(CancellationToken cancellationToken)
        {
            await Connections.StopAsync(new CancellationToken(canceled: true));
            Scheduler.Stop();
        }

        public void Dispose()
        {
        }
    }
}
