using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using FastCgi.AspNetCore.Transport;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Hosting leaves its context in the request, to use it again for the next one, unless it failed with it.</summary>
public sealed class HostContextTests
{
    // More than rest in the pool, so that each object is used again.
    private const int Enough = 30;

    [Theory]
    [InlineData(false, false, true)]
    [InlineData(true, false, false)]
    [InlineData(false, true, false)]
    public async Task HostContext_OfTheRequestBefore_IsThereUnlessHostingFailed(bool failsToCreate, bool failsToDispose, bool isKept)
    {
        using var logs = new CollectedLogs();
        var application = new Application { FailsToCreate = failsToCreate, FailsToDispose = failsToDispose };
        var options = new FastCgiServerOptions { Transport = { ApplicationScheduling = FastCgiApplicationScheduling.Inline } };
        var server = ServerContext.Create(options, application, logs.CreateLogger("FastCgi.AspNetCore"), new FakeClock());
        var connections = new ConnectionManager(server);
        var scheduler = new RequestScheduler(options.Transport, LinuxThreadPlatform.Create(server.Log), TimeProvider.System, server.Log);
        server.Runner = scheduler;
        server.Responses.Deadlines = scheduler.Watchdog;
        connections.Start(static () => { });
        var transport = new MemoryTransport();
        var connection = new FastCgiConnection(connections, transport);
        Assert.True(connections.TryAdd(connection));
        var frontEnd = new FrontEnd(transport, connection, scheduler);

        for (var i = 0; i < 2 * Enough; i++)
        {
            frontEnd.Send(RecordBytes.Get());
            await frontEnd.ReadResponseAsync();
        }

        Assert.InRange(application.Requests.Count, 1, Enough);
        Assert.Equal(isKept ? application.Requests.Count : 2 * Enough, application.Found.Count(static context => context is null));
        await connections.StopAsync(new CancellationToken(canceled: true));
        scheduler.Stop();
    }

    /// <summary>Keeps its context as hosting does.</summary>
    private sealed class Application : IHttpApplication<string>
    {
        public bool FailsToCreate { get; init; }

        public bool FailsToDispose { get; init; }

        public HashSet<object> Requests { get; } = new(ReferenceEqualityComparer.Instance);

        public List<string?> Found { get; } = [];

        public string CreateContext(IFeatureCollection contextFeatures)
        {
            var container = Assert.IsAssignableFrom<IHostContextContainer<string>>(contextFeatures);
            Requests.Add(contextFeatures);
            Found.Add(container.HostContext);
            container.HostContext = "of this request";
            return FailsToCreate ? throw new InvalidOperationException("on purpose") : container.HostContext;
        }

        public Task ProcessRequestAsync(string context) => Task.CompletedTask;

        public void DisposeContext(string context, Exception? exception)
        {
            if (FailsToDispose)
                throw new InvalidOperationException("on purpose");
        }
    }
}
