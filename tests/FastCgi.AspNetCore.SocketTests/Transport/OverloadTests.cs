using System.Diagnostics;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>More requests than the application can handle, on real sockets.</summary>
[Collection(Alone.Name)]
public sealed class OverloadTests
{
    private const int Capacity = 4;
    private static readonly TimeSpan s_work = TimeSpan.FromMilliseconds(20);

    /// <summary>
    /// Four times as many clients as slots: the application answers nearly as many requests as without overload, each
    /// response is correct or a 503, health checks are answered, and all resources are released at the end.
    /// </summary>
    [Theory]
    [InlineData(Engine.Epoll, false)]
    [InlineData(Engine.Epoll, true)]
    [InlineData(Engine.Socket, false)]
    [InlineData(Engine.Socket, true)]
    [InlineData(Engine.Pipe, false)]
    [InlineData(Engine.Pipe, true)]
    public async Task Load_FourTimesTheCapacity_IsShed(Engine engine, bool isBlocking)
    {
        await using var server = await TransportServer.StartAsync(
            new TransportSetup(engine, IsUnix: true),
            app =>
            {
                app.MapGet("/work/{token}", async (string token) =>
                {
                    if (isBlocking)
                        Thread.Sleep(s_work);
                    else
                        await Task.Delay(s_work);
                    return token;
                });
            },
            static options =>
            {
                options.PingPath = "/health";
                options.Limits.MaxConcurrentRequests = Capacity;
                options.Limits.RequestQueueLimit = Capacity;
            });
        await RunAsync(server, Capacity, answers: 20);
        var before = GC.GetTotalMemory(forceFullCollection: true);

        // Other load on the machine distorts the rate, so one of several comparisons is enough.
        var part = 0d;
        for (var i = 0; i < 5 && part <= 0.5; i++)
            part = await CompareAsync(server);

        Assert.True(part > 0.5, $"Under load it answered {part:P0} of what it answers without.");
        using var client = await server.ConnectAsync();
        Assert.Equal("last", await client.GetAsync("/work/last"));
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 4_000_000);
    }

    /// <summary>A refusal needs no application thread.</summary>
    [Theory, MemberData(nameof(TransportSetup.Own), MemberType = typeof(TransportSetup))]
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

    /// <summary>The rate of responses under overload, relative to that with as many clients as slots.</summary>
    private static async Task<double> CompareAsync(TransportServer server)
    {
        var alone = await RunAsync(server, Capacity, answers: 100);
        Assert.Equal(0, alone.Refused);
        using var over = new CancellationTokenSource();
        var health = AskAsync(server, over.Token);
        var overloaded = await RunAsync(server, 4 * Capacity, answers: 200);
        await over.CancelAsync();
        Assert.True(overloaded.Refused > 0, "Nothing was refused.");
        Assert.True(await health > 0, "Health was not answered.");
        return overloaded.Rate / alone.Rate;
    }

    private static async Task<(double Rate, int Refused)> RunAsync(TransportServer server, int clients, int answers)
    {
        var done = 0;
        var refused = 0;
        var watch = Stopwatch.StartNew();
        await Task.WhenAll(Enumerable.Range(0, clients).Select(async number =>
        {
            using var client = await server.ConnectAsync();
            for (var i = 0; Volatile.Read(ref done) < answers; i++)
            {
                var token = $"{number}-{i}";
                await client.SendAsync($"/work/{token}");
                var answer = await client.TryReadAnswerAsync();
                if (answer!.Contains("Status: 200", StringComparison.Ordinal))
                {
                    Assert.EndsWith("\r\n\r\n" + token, answer, StringComparison.Ordinal);
                    Interlocked.Increment(ref done);
                    continue;
                }

                Assert.Contains("Status: 503", answer, StringComparison.Ordinal);
                Assert.Contains("Retry-After: 1", answer, StringComparison.Ordinal);
                Interlocked.Increment(ref refused);
                // Immediate retries would measure the processor instead.
                await Task.Delay(s_work);
            }
        })).Within("the answers");
        return (done / watch.Elapsed.TotalSeconds, refused);
    }

    /// <summary>Repeats health checks.</summary>
    private static async Task<int> AskAsync(TransportServer server, CancellationToken over)
    {
        using var client = await server.ConnectAsync();
        var count = 0;
        for (; !over.IsCancellationRequested; count++)
        {
            Assert.Equal("pong\n", await client.GetAsync("/health"));
            await Task.Delay(s_work / 4, CancellationToken.None);
        }

        return count;
    }
}
