namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>How the server stops, including repeated and canceled stops.</summary>
[Collection(Alone.Name)]
public sealed class StopTests : HostTest
{
    private static readonly CancellationToken s_canceled = new(canceled: true);

    [Theory, EveryEngine]
    [Contract("T31")]
    public async Task Stop_NothingRuns_NothingListensAndStoppingAgainHasNothingToDo(Engine engine)
    {
        await using var app = await StartAsync(engine);

        for (var i = 0; i < 2; i++)
            await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);

        await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.GetAsync(Address));
        GetServer(app).Dispose();
        GetServer(app).Dispose();
    }

    [Theory, EveryEngine]
    [Contract("T31")]
    public async Task Stop_Concurrently_AllWaitForTheRunningRequest(Engine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync();

        var stops = Enumerable.Range(0, 4).Select(_ => Task.Run(() => GetServer(app).StopAsync(default))).ToList();
        Assert.DoesNotContain(stops, static stop => stop.IsCompleted);
        Go.SetResult();

        Assert.Equal("slow", await client.ReadTextAsync());
        await Task.WhenAll(stops).WaitAsync(Waiting.Patience);
    }

    /// <summary>Concurrent stops end with the shortest timeout.</summary>
    [Theory, EveryEngine]
    public async Task Stop_SecondWithACanceledToken_FirstEndsToo(Engine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync();

        var first = GetServer(app).StopAsync(default);
        var second = GetServer(app).StopAsync(s_canceled);

        await Task.WhenAll(first, second).WaitAsync(Waiting.Patience);
        await Aborted.Task.WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    public async Task Dispose_RequestRuns_IsAborted(Engine engine)
    {
        await using var app = await StartAsync(engine);
        using var client = await SendSlowAsync();

        await Task.Run(GetServer(app).Dispose).WaitAsync(Waiting.Patience);

        await Aborted.Task.WaitAsync(Waiting.Patience);
    }

    [Theory, EveryEngine]
    [Contract("T31")]
    public async Task Stop_WithoutStart_NothingHappensAndAStartIsRefused(Engine engine)
    {
        await using var app = Build(engine);

        await GetServer(app).StopAsync(default).WaitAsync(Waiting.Patience);
        await GetServer(app).StopAsync(s_canceled).WaitAsync(Waiting.Patience);

        await Assert.ThrowsAsync<InvalidOperationException>(() => app.StartAsync());
        Assert.False(File.Exists(SocketPath));
        GetServer(app).Dispose();
    }

    [Theory, EveryEngine]
    public async Task Stop_EachTime_DescriptorsAreReleased(Engine engine)
    {
        // The first requests open descriptors that stay open: assemblies, and the event loops of the client's sockets.
        await StartAndStopAsync(engine, times: 3);
        var before = CountDescriptors();

        await StartAndStopAsync(engine, times: 10);

        // The last threads may not have ended yet.
        await Waiting.UntilAsync(() => CountDescriptors() <= before + 8, "all descriptors to be given back");
    }

    /// <summary>With Inline, the handler blocks the thread of the loop.</summary>
    [Theory, EveryEngine]
    public async Task Stop_InlineHandlerNeverReturns_EndsAndLogs(Engine engine)
    {
        using var never = new ManualResetEventSlim();
        var entered = Waiting.Signal();
        await using var app = Build(engine, static options =>
        {
            options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Inline;
            options.Transport.LoopCount = 1;
        });
        app.MapGet("/never", () =>
        {
            entered.SetResult();
            never.Wait();
        });
        await app.StartAsync();
        using var client = await FastCgiClient.ConnectAsync(Address);
        await client.SendAsync("/never", keepConnection: false);
        await entered.Task.WaitAsync(Waiting.Patience);

        using var timeout = new CancellationTokenSource(TimeSpan.FromMilliseconds(200));
        try
        {
            await GetServer(app).StopAsync(timeout.Token).WaitAsync(Waiting.Patience);

            Assert.StartsWith(
                "The shutdown timed out. Aborted requests: 1; ",
                Assert.Single(Logs.All, static log => log.EventName == "StopTimedOut").Message);
            await Assert.ThrowsAnyAsync<SocketException>(() => FastCgiClient.ConnectAsync(Address));
        }
        finally
        {
            never.Set();
        }
    }

    private async Task StartAndStopAsync(Engine engine, int times)
    {
        for (var i = 0; i < times; i++)
        {
            await using var app = await StartAsync(engine);
            Assert.Equal("Hello", await FastCgiClient.GetAsync(Address));
        }
    }

    private WebApplication Build(Engine engine, Action<FastCgiServerOptions> configure)
    {
        var builder = CreateBuilder("--urls", Address);
        builder.WebHost.UseFastCgi(configure);
        return Choose(engine, Build(builder));
    }
}
