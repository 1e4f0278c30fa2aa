using System.Reflection;
using System.Text;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A server of its own, with real hosting, for <see cref="HostileRequest"/>s. Its request objects are given to the server of a test, so that the
/// test's requests are never the first of their object, while logs, counters and limits are the test's alone.
/// </summary>
internal abstract class HostileServer
{
    private static readonly Lazy<Task<HostileServer>> s_instance = new(StartAsync);

    /// <summary>Whether all tests are to run on objects that have served: tests/run.sh runs them so too.</summary>
    public static bool IsWanted { get; } = Environment.GetEnvironmentVariable("FASTCGI_RECYCLED") == "1";

    /// <summary>The one of this process.</summary>
    public static Task<HostileServer> Instance => s_instance.Value;

    private static async Task<HostileServer> StartAsync()
    {
        var host = new HostBuilder()
            .ConfigureWebHost(static web => web
                .ConfigureServices(static services => services.AddSingleton<IServer, Starter>())
                .Configure(static app => app.Run(HostileServer.RunAsync)))
            .Build();
        await host.StartAsync();
        return ((Starter)host.Services.GetRequiredService<IServer>()).Started!;
    }

    /// <summary>The request that runs. One server is filled at a time.</summary>
    protected static HostileRequest? Current { get; set; }

    private static Task RunAsync(HttpContext context) => Current!.RunAsync(context);

    /// <summary>Finds out of what type hosting's context is.</summary>
    private sealed class Starter : IServer
    {
        public HostileServer? Started { get; private set; }

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull
        {
            Started = new HostileServer<TContext>(application);
            return Task.CompletedTask;
        }

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public void Dispose()
        {
        }
    }
}

/// <inheritdoc/>
internal sealed class HostileServer<TContext> : HostileServer
    where TContext : notnull
{
    // As many rest in a pool before the first of them is used again; some more, each way to end twice.
    private const int Resting = 8;
    private const int Count = 2 * HostileRequest.WaysToEnd;

    private readonly Lock _lock = new();
    private readonly ConnectionManager _connections;
    private readonly RequestScheduler _scheduler;
    private readonly RequestPool _pool;
    private int _taken;

    public HostileServer(IHttpApplication<TContext> application)
    {
        var options = new FastCgiServerOptions
        {
            Transport = { ApplicationScheduling = FastCgiApplicationScheduling.Inline },
            RequestHeaderEncodingSelector = static _ => Encoding.UTF8,
            ResponseHeaderEncodingSelector = static _ => Encoding.UTF8,
        };
        var server = ServerContext.Create(options, application, NullLogger.Instance, TimeProvider.System);
        _pool = server.Requests;
        _connections = new ConnectionManager(server);
        _scheduler = new RequestScheduler(options.Transport, LinuxThreadPlatform.Create(NullLogger.Instance), TimeProvider.System, NullLogger.Instance);
        server.Runner = _scheduler;
        server.Responses.Deadlines = _scheduler.Watchdog;
        for (var i = 0; i < Resting; i++)
            Use(Count - Resting + i);
    }

    /// <summary>Lets hostile requests use as many objects as will rest in the pool of a server, and some, and puts them there.</summary>
    public IReadOnlyList<FastCgiRequest> GiveTo(ServerContext server, IHttpApplication<TContext> application)
    {
        var used = new List<FastCgiRequest>();
        lock (_lock)
        {
            // Not in the context of the test, and the test not in theirs.
            var flow = ExecutionContext.SuppressFlow();
            for (var number = 0; number < Count; number++)
            {
                Use(number);
                used.Add(Take());
            }

            flow.Undo();
        }

        // The pool counts those that are out, as it knows only what it has given.
        for (var i = 0; i < Count; i++)
            server.Requests.Rent(loop: 0);
        foreach (var request in used)
        {
            Move(request, server, application);
            server.Requests.Return(request, loop: 0);
        }

        return used;
    }

    private void Use(int number)
    {
        var request = Current = new HostileRequest(number);
        var transport = new MemoryTransport();
        var connection = new FastCgiConnection(_connections, transport);
        Assert.True(_connections.TryAdd(connection));
        request.Run(new FrontEnd(transport, connection, _scheduler));
        Assert.True(SpinWait.SpinUntil(() => _pool.UsedCount == _taken, Waiting.Patience), $"The hostile request {number} does not end.");
        request.End();
    }

    /// <summary>The object that has rested longest: in each round they come in the same order.</summary>
    private FastCgiRequest Take()
    {
        _taken++;
        return _pool.Rent(loop: 0);
    }

    /// <summary>The object has another server and another application from now on. Whatever else it has is what it should not have.</summary>
    private static void Move(FastCgiRequest request, ServerContext server, IHttpApplication<TContext> application)
    {
        for (var type = request.GetType(); type is not null; type = type.BaseType)
        {
            foreach (var field in type.GetFields(BindingFlags.Instance | BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.DeclaredOnly))
            {
                if (field.FieldType == typeof(ServerContext))
                    field.SetValue(request, server);
                else if (field.FieldType == typeof(IHttpApplication<TContext>))
                    field.SetValue(request, application);
            }
        }
    }
}
