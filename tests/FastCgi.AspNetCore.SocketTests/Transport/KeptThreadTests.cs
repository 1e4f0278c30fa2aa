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

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_Blocks_DelaysNoOtherRequestAndIsToldOfTheDisconnect(TransportSetup setup)
    {
        using var aborted = new ManualResetEventSlim();
        var begun = Waiting.Signal();
        var told = Waiting.Signal<bool>();
        await using var server = await TransportServer.StartAsync(setup, app =>
        {
            app.MapGet("/stuck", (HttpContext context) =>
            {
                using var registration = context.RequestAborted.Register(aborted.Set);
                begun.SetResult();
                told.SetResult(aborted.Wait(TimeSpan.FromSeconds(60)));
            });
            app.MapGet("/{token}", (string token) => token);
        });
        var connection = await server.ConnectAsync();

        // Both requests arrive in one receive: the second one must run too.
        await connection.SendAsync([.. RecordBytes.Get(1, "/stuck"), .. RecordBytes.Get(2, "/sibling")]);
        Assert.EndsWith("sibling", Encoding.ASCII.GetString(await connection.ReadResponseAsync(2)));
        await begun.Task.Within("the handler");
        for (var i = 0; i < 200; i++)
            Assert.Equal($"t{i}", await server.GetAsync($"/t{i}"));

        connection.Dispose();

        Assert.True(await told.Task.Within("the handler to end"));
    }
}
