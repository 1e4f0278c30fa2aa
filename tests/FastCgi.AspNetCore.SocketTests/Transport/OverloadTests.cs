using System.Diagnostics;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Xunit.Abstractions;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>More requests than the application can work on, on real sockets. What was measured is in the output of the tests.</summary>
[Collection(Alone.Name)]
public sealed class OverloadTests(ITestOutputHelper output)
{
    private const int Capacity = 4;
    private static readonly TimeSpan s_work = TimeSpan.FromMilliseconds(20);

    private readonly TaskCompletionSource _go = Waiting.Signal();

    public static TheoryData<TransportSetup, bool> SetupsAndHandlers
    {
        get
        {
            var data = new TheoryData<TransportSetup, bool>();
            foreach (var engine in Enum.GetValues<Engine>())
            {
                data.Add(new TransportSetup(engine, IsUnix: true), false);
                data.Add(new TransportSetup(engine, IsUnix: true), true);
            }

            return data;
        }
    }

    /// <summary>
    /// Four times as many clients as the application has places: it does nearly as much as without the others, each answer is the right one
    /// or a 503, health checks are answered, and nothing is left when the load is over.
    /// </summary>
    [Theory, MemberData(nameof(SetupsAndHandlers))]
    public async Task Load_FourTimesTheCapacity_IsShed(TransportSetup setup, bool isBlocking)
    {
        await using var server = await TransportServer.StartAsync(
            setup,
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
                app.MapGet("/health", static () => "healthy");
            },
            static options =>
            {
                options.ReservedPaths.Add("/health");
                options.Limits.MaxConcurrentRequests = Capacity;
                options.Limits.RequestQueueLimit = Capacity;
                options.Limits.MaxReservedRequests = 1;
            });
        await RunAsync(server, Capacity, answers: 20);
        var before = GC.GetTotalMemory(forceFullCollection: true);

        // A machine that has other work for a second shows no rate: one of some comparisons is enough.
        var part = 0d;
        for (var i = 0; i < 5 && part <= 0.5; i++)
            part = await CompareAsync(server, $"{setup} blocking {isBlocking}");

        Assert.True(part > 0.5, $"Under load it answered {part:P0} of what it answers without.");
        using var client = await server.ConnectAsync();
        Assert.Equal("last", await client.GetAsync("/work/last"));
        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 4_000_000);
    }

    /// <summary>A refusal needs no thread of the application, when there is none.</summary>
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
        // By then it is known what the path does.
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

    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Queue_TimeIsOverOrClientGone_NotBegun(TransportSetup setup)
    {
        var begun = new List<string>();
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/{token}", async (string token) =>
            {
                begun.Add(token);
                await _go.Task;
                return token;
            }),
            static options =>
            {
                options.Limits.MaxConcurrentRequests = 1;
                options.Limits.RequestQueueLimit = 1;
                options.Limits.RequestQueueTimeout = TimeSpan.FromSeconds(1);
            });
        using var first = await server.ConnectAsync();
        await first.SendAsync("/first");
        await Waiting.UntilAsync(() => begun.Count == 1, "the first to begin");

        using (var gone = await server.ConnectAsync())
            await gone.SendAsync("/gone");
        // Refused until the queue is free again.
        string? answer;
        using var late = await server.ConnectAsync();
        do
        {
            await late.SendAsync("/late");
            answer = await late.TryReadAnswerAsync();
            Assert.Contains("Status: 503", answer, StringComparison.Ordinal);
            Assert.Contains("Retry-After: 1", answer, StringComparison.Ordinal);
        }
        while (!answer!.Contains("RequestQueueTimeout", StringComparison.Ordinal));

        _go.SetResult();
        Assert.Equal("first", await first.ReadTextAsync());
        Assert.Equal("next", await late.GetAsync("/next"));
        Assert.Equal(["first", "next"], begun);
    }

    /// <summary>The rate of answers under load, as a part of that with as many clients as there are places.</summary>
    private async Task<double> CompareAsync(TransportServer server, string what)
    {
        var alone = await RunAsync(server, Capacity, answers: 100);
        Assert.Equal(0, alone.Refused);
        using var over = new CancellationTokenSource();
        var health = AskAsync(server, over.Token);
        var overloaded = await RunAsync(server, 4 * Capacity, answers: 200);
        await over.CancelAsync();
        var asked = await health;

        output.WriteLine($"{what}: {alone.Rate:N0}/s alone, {overloaded.Rate:N0}/s overloaded, {overloaded.Refused} refused, the slowest in {overloaded.SlowestRefusal.TotalMilliseconds:N1} ms, health {asked.Count} times, the slowest in {asked.Slowest.TotalMilliseconds:N1} ms");
        Assert.True(overloaded.Refused > 0, "Nothing was refused.");
        Assert.True(asked.Count > 0, "Health was not answered.");
        return overloaded.Rate / alone.Rate;
    }

    private static async Task<(double Rate, int Refused, TimeSpan SlowestRefusal)> RunAsync(TransportServer server, int clients, int answers)
    {
        var done = 0;
        var refused = 0;
        var slowest = 0L;
        var watch = Stopwatch.StartNew();
        await Task.WhenAll(Enumerable.Range(0, clients).Select(async number =>
        {
            using var client = await server.ConnectAsync();
            for (var i = 0; Volatile.Read(ref done) < answers; i++)
            {
                var token = $"{number}-{i}";
                var start = watch.ElapsedTicks;
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
                InterlockedMax(ref slowest, watch.ElapsedTicks - start);
                // A client with something else to do; one that asked again at once would measure the processor.
                await Task.Delay(s_work);
            }
        })).Within("the answers");
        return (done / watch.Elapsed.TotalSeconds, refused, TimeSpan.FromSeconds((double)slowest / Stopwatch.Frequency));
    }

    private static async Task<(int Count, TimeSpan Slowest)> AskAsync(TransportServer server, CancellationToken over)
    {
        var slowest = TimeSpan.Zero;
        using var client = await server.ConnectAsync();
        var count = 0;
        for (; !over.IsCancellationRequested; count++)
        {
            var watch = Stopwatch.StartNew();
            await client.SendAsync("/health");
            Assert.Equal("healthy", await client.ReadTextAsync());
            slowest = watch.Elapsed > slowest ? watch.Elapsed : slowest;
            await Task.Delay(s_work / 4, CancellationToken.None);
        }

        return (count, slowest);
    }

    private static void InterlockedMax(ref long value, long candidate)
    {
        for (var seen = Volatile.Read(ref value); candidate > seen; seen = Volatile.Read(ref value))
            Interlocked.CompareExchange(ref value, candidate, seen);
    }
}
