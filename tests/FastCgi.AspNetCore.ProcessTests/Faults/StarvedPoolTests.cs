using System.Diagnostics;

namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// Whatever the application does to .NET's thread pool, the server keeps its own promises: timeouts, slots, and the
/// ping to systemd.
/// </summary>
public sealed class StarvedPoolTests
{
    private const int Limit = 4;

    // Hexadecimal. docs/robustness.md advises such a limit.
    private static readonly string[] s_fewThreads = ["DOTNET_ThreadPool_ForceMaxWorkerThreads=10"];

    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task HalfARequest_IsAnsweredInTime(ServerSetup setup)
    {
        await using var server = await StartStarvedAsync(
            setup, s_fewThreads, "--FastCgi:Limits:RequestParametersTimeout=00:00:03");
        using var client = await server.ConnectAsync();
        await client.SendAsync(RecordBytes.Begin());

        var watch = Stopwatch.StartNew();
        Assert.Contains("Status: 408", Encoding.ASCII.GetString(await client.ReadResponseAsync()));

        Assert.InRange(watch.Elapsed.TotalSeconds, 2, 7);
    }

    /// <summary>
    /// Requests that waited for a slot run like all others, and abandoned requests release their slots.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Requests_WaitForASlot_AreServed(ServerSetup setup)
    {
        await using var server = await StartStarvedAsync(
            setup, [], $"--FastCgi:Limits:MaxConcurrentRequests={Limit}", "--FastCgi:Limits:RequestQueueLimit=20");
        var occupying = await Task.WhenAll(Enumerable.Range(0, Limit).Select(_ => server.ConnectAsync()));
        foreach (var client in occupying)
            await client.SendAsync("/block/1000");
        var givenUp = await Task.WhenAll(Enumerable.Range(0, Limit).Select(_ => server.ConnectAsync()));
        foreach (var client in givenUp)
            await client.SendAsync("/process");
        var waiting = Enumerable.Range(0, 12).Select(_ => FastCgiClient.GetAsync(server.Address, "/process")).ToArray();

        foreach (var client in givenUp)
            client.Dispose();

        Assert.All(
            await Task.WhenAll(waiting).Within("the requests"), answer => Assert.Equal(server.ProcessId, answer));
        Assert.Equal(server.ProcessId, await FastCgiClient.GetAsync(server.Address, "/process"));
        foreach (var client in occupying)
            client.Dispose();
    }

    /// <summary>
    /// After clients have given up too, a stop answers the requests under way, and ends soon after the last.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Stop_RequestsUnderWay_AnswersThemAndEnds(ServerSetup setup)
    {
        await using var server = await StartStarvedAsync(
            setup, s_fewThreads, "--FastCgi:Limits:ShutdownIdleGracePeriod=00:00:00");
        for (var i = 0; i < 20; i++)
        {
            using var givenUp = await server.ConnectAsync();
            await givenUp.SendAsync("/block/100");
        }

        var answers = Enumerable.Range(0, Limit).Select(_ => FastCgiClient.GetAsync(server.Address, "/block/2000"))
            .ToArray();
        await FastCgiClient.GetAsync(server.Address, "/block/1");
        await FastCgiClient.GetAsync(server.Address, "/stop/60");

        Assert.All(await Task.WhenAll(answers).Within("the requests"), static answer => Assert.Equal("awake", answer));
        await AssertStopsAsync(server, withinMilliseconds: 5_000);
    }

    /// <summary>Even what a stop logs needs no thread of the pool, which has none left.</summary>
    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Stop_RequestsTakeTooLong_Ends(ServerSetup setup)
    {
        await using var server = await StartStarvedAsync(setup, s_fewThreads);
        using var client = await server.ConnectAsync();
        await client.SendAsync("/block/30000");

        await FastCgiClient.GetAsync(server.Address, "/stop/1");

        await AssertStopsAsync(server, withinMilliseconds: 8_000);
        Assert.Contains("The shutdown timed out", server.Output);
    }

    [Fact]
    public async Task Systemd_IsPinged()
    {
        using var folder = new ScratchFolder();
        using var systemd = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        systemd.Bind(new UnixDomainSocketEndPoint(folder.GetPath("notify")));
        await using var server = await StartStarvedAsync(
            new ServerSetup(ServerEngine.Epoll, IsUnix: true),
            [.. s_fewThreads, $"NOTIFY_SOCKET={folder.GetPath("notify")}", "WATCHDOG_USEC=1000000"]);

        var buffer = new byte[1_000];
        while (systemd.Available > 0)
            systemd.Receive(buffer);
        for (var i = 0; i < 4; i++)
        {
            var length = await systemd.ReceiveAsync(buffer, SocketFlags.None).Within("a ping");
            Assert.Equal("WATCHDOG=1", Encoding.UTF8.GetString(buffer, 0, length));
        }
    }

    private static async Task AssertStopsAsync(FaultedServer server, int withinMilliseconds)
    {
        await server.WaitForOutputAsync("The server has stopped after ");
        var text = server.Output.Split("The server has stopped after ")[1].Split(' ')[0];
        Assert.InRange(int.Parse(text, CultureInfo.InvariantCulture), 0, withinMilliseconds);
    }

    private static async Task<FaultedServer> StartStarvedAsync(
        ServerSetup setup, string[] environment, params string[] arguments)
    {
        var server = await FaultedServer.StartAsync(setup, environment, arguments, isFaulted: false);
        await FastCgiClient.GetAsync(server.Address, "/process");
        await FastCgiClient.GetAsync(server.Address, "/starve/15");
        return server;
    }
}
