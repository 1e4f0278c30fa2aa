using System.Diagnostics;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// Hundreds of clients give up while their handlers return: a stop afterwards loses no request, and waits for nothing
/// else.
/// </summary>
[Collection(Alone.Name)]
public sealed class GivenUpRequestTests
{
    private const int Clients = 24;
    private const int RequestsOfAClient = 25;
    private const int UnderWay = 20;

    [Theory, MemberData(nameof(TransportSetup.Own), MemberType = typeof(TransportSetup))]
    public async Task Stop_AfterClientsGaveUpWhileOthersWereAnswered_NoRequestIsLost(TransportSetup setup)
    {
        var go = Waiting.Signal();
        using var entered = new SemaphoreSlim(0);
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.MapGet("/short/{microseconds}", static async (int microseconds) =>
                {
                    await Task.Yield();
                    Wait(microseconds);
                    return "short";
                });
                app.MapGet("/slow", async () =>
                {
                    entered.Release();
                    await go.Task;
                    return "slow";
                });
            },
            build: static builder => builder.Logging.SetMinimumLevel(LogLevel.Warning));
        await Task.WhenAll(Enumerable.Range(0, Clients).Select(i => Task.Run(() => RunAsync(server, new Random(i)))));
        var answers = Enumerable.Range(0, UnderWay).Select(_ => server.GetAsync("/slow")).ToList();
        for (var i = 0; i < UnderWay; i++)
            Assert.True(await entered.WaitAsync(Waiting.Patience));

        var watch = Stopwatch.StartNew();
        var stopping = server.StopAsync();
        await Task.WhenAny(stopping, Task.Delay(TimeSpan.FromMilliseconds(200)));
        Assert.False(stopping.IsCompleted);
        go.SetResult();

        Assert.All(await Task.WhenAll(answers), static answer => Assert.Equal("slow", answer));
        await stopping.Within("the stop");
        Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(5));
        Assert.Empty(server.Logs.Named("StopTimedOut"));
    }

    /// <summary>Gives up two of three requests, at about the time when their handlers return.</summary>
    private static async Task RunAsync(TransportServer server, Random random)
    {
        var connection = await server.ConnectAsync();
        for (var i = 0; i < RequestsOfAClient; i++)
        {
            await connection.SendAsync($"/short/{random.Next(300)}");
            var how = random.Next(3);
            if (how != 0)
                Wait(random.Next(300));
            switch (how)
            {
                case 1:
                    await connection.SendAsync(RecordBytes.Abort());
                    break;
                case 2:
                    connection.Reset();
                    connection = await server.ConnectAsync();
                    continue;
            }

            await connection.ReadResponseAsync();
        }

        connection.Dispose();
    }

    private static void Wait(int microseconds)
    {
        var start = Stopwatch.GetTimestamp();
        SpinWait.SpinUntil(() => Stopwatch.GetElapsedTime(start).TotalMicroseconds >= microseconds);
    }
}
