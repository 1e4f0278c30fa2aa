namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>The number of threads for handlers that block.</summary>
public sealed class ApplicationThreadTests
{
    private const int MaxThreads = 5;
    private const int Requests = 40;

    /// <summary>
    /// Concurrent handlers on different paths and folders: none is known to block, and each stalls the loop at first.
    /// </summary>
    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handlers_BlockOnDistinctPaths_StayWithinTheLimit(TransportSetup setup)
    {
        using var step = new SemaphoreSlim(0);
        using var isFull = new ManualResetEventSlim();
        var running = 0;
        var most = 0;
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.MapGet("/", static () => "hello");
                app.MapGet("/{word}/", (string word) =>
                {
                    lock (step)
                        most = Math.Max(most, ++running);
                    if (Volatile.Read(ref running) >= MaxThreads)
                        isFull.Set();
                    Assert.True(step.Wait(TimeSpan.FromSeconds(60)));
                    lock (step)
                        running--;
                    return word;
                });
            },
            static options => options.Transport.MaxBlockingThreads = MaxThreads);

        // A response may arrive before its handler returns, and requests received before the first return never run on
        // the loop. After the second response, the first handler has returned.
        Assert.Equal("hello", await server.GetAsync("/"));
        Assert.Equal("hello", await server.GetAsync("/"));

        var answers = Enumerable.Range(0, Requests).Select(i => server.GetAsync($"/{Word(i)}/")).ToArray();
        // A request for a new path waits if no thread is left. Only one that starts at this moment can run on the loop.
        Assert.True(await Task.Run(() => isFull.Wait(TimeSpan.FromSeconds(60))));
        // Enough time for a watchdog without a limit to hand over the loop repeatedly.
        await Task.Delay(TimeSpan.FromMilliseconds(100));
        for (var i = 0; i < Requests; i++)
            step.Release();

        Assert.Equal(Enumerable.Range(0, Requests).Select(Word), await Task.WhenAll(answers));
        // A handler that computes when its loop is taken, such as on its first call, has a seat when it blocks.
        Assert.InRange(most, MaxThreads, MaxThreads + 1 + Environment.ProcessorCount);
    }

    /// <summary>A limit as low as the number of loops still leaves a thread for waiting requests.</summary>
    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handlers_BlockWithOneThread_AreAllAnswered(TransportSetup setup)
    {
        using var never = new ManualResetEventSlim();
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.MapGet("/block", () =>
                {
                    never.WaitHandle.WaitOne(5);
                    return "blocked";
                });
                app.MapGet("/hello", static () => "hello");
            },
            static options => options.Transport.MaxBlockingThreads = 1);

        for (var round = 0; round < 3; round++)
        {
            var answers = Enumerable.Range(0, 10).Select(_ => server.GetAsync("/block")).ToArray();
            Assert.Equal("hello", await server.GetAsync("/hello"));
            Assert.All(await Task.WhenAll(answers), static answer => Assert.Equal("blocked", answer));
        }
    }

    /// <summary>
    /// After its loop has moved to another thread, a handler's actions do not wait for its own thread.
    /// </summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Abort_HandlerHasKeptItsThread_ReachesTheWebServerAtOnce(TransportSetup setup)
    {
        using var abort = new ManualResetEventSlim();
        using var finish = new ManualResetEventSlim();
        var begun = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(setup, app =>
        {
            app.MapGet("/abort", (HttpContext context) =>
            {
                begun.SetResult();
                abort.Wait();
                context.Abort();
                finish.Wait();
            });
            app.MapGet("/hello", static () => "hello");
        });
        using var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get(uri: "/abort"));
        await begun.Task.Within("the handler");
        // After another response, the loop has another thread.
        Assert.Equal("hello", await server.GetAsync("/hello"));

        abort.Set();

        await connection.ReadToEndAsync();
        finish.Set();
    }

    /// <summary>A refusal needs no application thread.</summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Refusal_WhileAllThreadsAreBlocked_AtOnce(TransportSetup setup)
    {
        var entered = new SemaphoreSlim(0);
        var release = new SemaphoreSlim(0);
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/block", () =>
            {
                entered.Release();
                release.Wait();
                return "unblocked";
            }),
            static options =>
            {
                options.Transport.MaxBlockingThreads = 2;
                options.Limits.MaxConcurrentRequests = 2;
            });
        using var first = await server.ConnectAsync();
        using var second = await server.ConnectAsync();
        using var third = await server.ConnectAsync();
        // Repeat until the server has learned that the path blocks.
        for (var i = 0; i < 100; i++)
        {
            foreach (var client in new[] { first, second })
            {
                await client.SendAsync("/block");
                Assert.True(await entered.WaitAsync(Waiting.Patience));
            }

            await third.SendAsync("/block");
            Assert.Contains("Status: 503", await third.TryReadAnswerAsync(), StringComparison.Ordinal);
            release.Release(2);
            Assert.Equal("unblocked", await first.ReadTextAsync());
            Assert.Equal("unblocked", await second.ReadTextAsync());
        }
    }

    private static string Word(int number) => $"word{(char)('a' + (number / 26))}{(char)('a' + (number % 26))}";
}
