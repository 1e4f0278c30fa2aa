using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Handlers that block their thread, all on one loop: no other request waits for them.</summary>
public sealed class KeptThreadTests
{
    private const int BlockedCount = 60;

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handlers_Block_AreReleasedByAnother(TransportSetup setup)
    {
        using var begun = new CountdownEvent(BlockedCount);
        using var release = new ManualResetEventSlim();
        await using var server = await TransportServer.StartAsync(setup, app =>
        {
            app.MapGet("/block", () =>
            {
                begun.Signal();
                Assert.True(release.Wait(TimeSpan.FromSeconds(60)));
                return "released";
            });
            app.MapGet("/release", () =>
            {
                release.Set();
                return "done";
            });
        });

        var blocked = Enumerable.Range(0, BlockedCount).Select(_ => server.GetAsync("/block")).ToArray();
        await Task.Run(() => begun.Wait(TimeSpan.FromSeconds(60)));

        Assert.Equal("done", await server.GetAsync("/release"));
        Assert.All(await Task.WhenAll(blocked), static answer => Assert.Equal("released", answer));
    }

    /// <summary>Its first call takes long, because it compiles.</summary>
    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Status_WhileHandlersKeepEveryThread_IsAnswered(TransportSetup setup)
    {
        const int Threads = 4;
        using var begun = new CountdownEvent(Threads);
        using var release = new ManualResetEventSlim();
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.MapFastCgiStatus("/status").AllowAnonymous();
                app.MapGet("/block", () =>
                {
                    if (!begun.IsSet)
                        begun.Signal();
                    Assert.True(release.Wait(TimeSpan.FromSeconds(60)));
                    return "released";
                });
            },
            static options => options.Transport.MaxBlockingThreads = Threads);
        await server.GetAsync("/status");

        var blocked = Enumerable.Range(0, Threads).Select(_ => server.GetAsync("/block")).ToList();
        await Task.Run(() => begun.Wait(TimeSpan.FromSeconds(60)));
        blocked.AddRange(Enumerable.Range(0, Threads).Select(_ => server.GetAsync("/block")));
        var answers = Task.WhenAll(Enumerable.Range(0, 20).Select(_ => server.GetAsync("/status")));
        var isAnswered = await Task.WhenAny(answers, Task.Delay(TimeSpan.FromSeconds(20))) == answers;

        Assert.DoesNotContain(blocked, static request => request.IsCompleted);
        release.Set();
        Assert.True(isAnswered, "The status waited for a thread of the application.");
        Assert.All(await Task.WhenAll(blocked), static answer => Assert.Equal("released", answer));
    }

    /// <summary>Neither may use up the threads of the loops, which must respond to pings.</summary>
    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Ping_WhileTheStatusAndLogProvidersBlock_IsAnswered(TransportSetup setup)
    {
        const int Threads = 3;
        const int Attempts = 20;
        using var begun = new CountdownEvent(Threads);
        using var release = new ManualResetEventSlim();
        var isBlocking = false;
        using var logs = new ActingLogs(_ => Block(), category: "FastCgi.AspNetCore");
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.Use((HttpContext context, RequestDelegate next) =>
                {
                    if (context.Request.Path == "/status")
                        release.Wait(TimeSpan.FromSeconds(120));
                    return next(context);
                });
                app.UseRouting();
                app.MapFastCgiStatus("/status").AllowAnonymous();
                app.MapGet("/block", () =>
                {
                    begun.Signal();
                    release.Wait(TimeSpan.FromSeconds(120));
                });
            },
            static options => (options.Transport.MaxBlockingThreads, options.PingPath) = (Threads, "/ping"),
            builder => builder.Logging.AddProvider(logs));
        var waiting = Enumerable.Range(0, Threads).Select(_ => server.GetAsync("/block")).ToList();
        await Task.Run(() => begun.Wait(TimeSpan.FromSeconds(60)));
        Volatile.Write(ref isBlocking, true);
        var rejected = new List<FastCgiClient>();

        try
        {
            for (var i = 0; i < Attempts; i++)
            {
                waiting.Add(server.GetAsync("/status"));
                rejected.Add(await server.ConnectAsync());
                await rejected[^1].SendAsync(RecordBytes.Get(1, method: ""));
                Assert.Equal("pong\n", await server.GetAsync("/ping").WaitAsync(TimeSpan.FromSeconds(20)));
            }
        }
        finally
        {
            release.Set();
            await Task.WhenAll(waiting);
            rejected.ForEach(static connection => connection.Dispose());
        }

        void Block()
        {
            if (Volatile.Read(ref isBlocking))
                release.Wait(TimeSpan.FromSeconds(120));
        }
    }

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_ReadsItsBodySynchronously_GetsIt(TransportSetup setup)
    {
        var begun = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup, app => app.MapPost("/", (HttpRequest request) =>
            {
                begun.SetResult();
                using var body = new MemoryStream();
#pragma warning disable xUnit1031 // Blocking is what the test is about.
                request.Body.CopyToAsync(body).GetAwaiter().GetResult();
#pragma warning restore xUnit1031
                return Encoding.ASCII.GetString(body.ToArray());
            }));
        using var connection = await server.ConnectAsync();

        await connection.SendAsync(
            [
                .. RecordBytes.PostHead(4),
            ]);
        await begun.Task.Within("the handler");
        await connection.SendAsync(RecordBytes.StdinStream(1, "late"u8));

        Assert.Equal("late", Encoding.ASCII.GetString(await connection.ReadBodyAsync()));
    }

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_NeverReturns_DelaysNoOtherRequest(TransportSetup setup)
    {
        using var stuck = new ManualResetEventSlim();
        var begun = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(setup, app =>
        {
            app.MapGet("/stuck", () =>
            {
                begun.SetResult();
                stuck.Wait();
            });
            app.MapGet("/{token}", (string token) => token);
        });
        using var connection = await server.ConnectAsync();

        // Both requests arrive in one receive: the second one must run too.
        await connection.SendAsync([.. RecordBytes.Get(1, "/stuck"), .. RecordBytes.Get(2, "/sibling")]);
        Assert.EndsWith("sibling", Encoding.ASCII.GetString(await connection.ReadResponseAsync(2)));
        await begun.Task.Within("the handler");
        for (var i = 0; i < 200; i++)
            Assert.Equal($"t{i}", await server.GetAsync($"/t{i}"));

        stuck.Set();
        await connection.ReadResponseAsync();
    }

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_Blocks_IsToldOfTheDisconnect(TransportSetup setup)
    {
        using var aborted = new ManualResetEventSlim();
        var begun = Waiting.Signal();
        var told = Waiting.Signal<bool>();
        await using var server = await TransportServer.StartAsync(setup, app => app.MapGet("/", (HttpContext context) =>
        {
            using var registration = context.RequestAborted.Register(aborted.Set);
            begun.SetResult();
            told.SetResult(aborted.Wait(TimeSpan.FromSeconds(60)));
        }));
        var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get());
        await begun.Task.Within("the handler");

        connection.Dispose();

        Assert.True(await told.Task.Within("the handler to end"));
    }
}
