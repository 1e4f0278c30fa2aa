namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// More peers than descriptors and memory allow, and peers that are slow, idle, or gone. Afterwards, the server uses
/// what it used before. FASTCGI_RESOURCES=1 uses the numbers in docs/robustness.md; otherwise, they are smaller.
/// </summary>
public sealed class ResourceTests(ITestOutputHelper output)
{
    // A heap that has grown does not shrink completely.
    private const long MemoryMargin = 60_000_000;
    private const string Bodies = "bodies that are not read";
    private const int LargeLength = 10 * 1024 * 1024;

    private static readonly bool s_isLong = Environment.GetEnvironmentVariable("FASTCGI_RESOURCES") == "1";

    // An idle thread of the server ends after 20 s. Only the long form waits for that.
    private static readonly int s_threads = s_isLong ? 24 : 500;

    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Peers_ManyAndBad_NothingIsLeft(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, isFaulted: false);
        await RunAsync(server, 100, 20, static client => client.GetAsync("/bytes/100"));
        var before = await server.GetUsageAsync();

        await RunAsync(server, s_isLong ? 20_000 : 1_000, 50, static _ => Task.CompletedTask);
        await RunAsync(server, s_isLong ? 20_000 : 1_000, 50, static async client =>
        {
            await client.SendAsync("/bytes/1000000");
            client.Reset();
        });
        await RunAsync(server, s_isLong ? 1_000 : 20, 1_000, ReadSlowlyAsync);
        await RunAsync(server, s_isLong ? 1_000 : 100, 1_000, SendSlowlyAsync);
        await RunAsync(server, s_isLong ? 1_000 : 100, 50, static async client =>
        {
            // The server closes the connection when the web server stops sending.
            await client.SendAsync("/bytes/100");
            client.EndSending();
            await client.ReadToEndAsync();
        });

        var after = await server.SettleAsync(before, descriptors: 40, threads: s_threads);
        // The pool periodically releases half of its free buffers, and a collection returns their memory to the system.
        await Waiting.UntilAsync(
            async () =>
            {
                await FastCgiClient.GetAsync(server.Address, "/collect");
                after = await server.GetUsageAsync();
                return after.ResidentBytes <= before.ResidentBytes + MemoryMargin;
            },
            () => server.HasExited ? server.Output : null,
            $"{before.ResidentBytes} bytes of resident memory and {MemoryMargin} more");
        output.WriteLine($"{setup}: {before}; {after}");
    }

    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Connections_IdleAndKept_AreServedAndLeave(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, isFaulted: false);
        var before = await server.GetUsageAsync();
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < (s_isLong ? 10_000 : 500); i++)
            clients.Add(await server.ConnectAsync());
        foreach (var client in clients)
            Assert.Equal(100, (await client.GetAsync("/bytes/100")).Length);

        clients.ForEach(static client => client.Dispose());
        await server.SettleAsync(before, descriptors: 40, threads: s_threads);
    }

    /// <summary>
    /// Connections beyond the limit are closed, so that the web server notices, and existing ones continue. The reserve
    /// is enough for threads, which need two descriptors each: .NET ends the process if its pool cannot start one.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Descriptors_AllInUse_ServerRecoversWhenTheyAreFree(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, LimitDescriptors(640), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 700; i++)
            clients.Add(await server.ConnectAsync());

        await AssertServesAsync(server, kept);
        await server.WaitForOutputAsync("LimitNOFILE=");
        await AssertStartsThreadsAsync(server, kept);
        await AssertServesAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
        await server.WaitForRecoveryAsync();
        Assert.Equal(1, server.Output.Split("LimitNOFILE=").Length - 1);
    }

    /// <summary>The limit drops while there are few connections, as with prlimit(1).</summary>
    [Theory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    public async Task Descriptors_LimitLowered_ThreadsHaveTheirs(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, LimitDescriptors(1024), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        using (var change = Process.Start("prlimit", ["--nofile=600:1024", "--pid", server.ProcessId]))
            await change.WaitForExitAsync();
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 500; i++)
            clients.Add(await server.ConnectAsync());

        await AssertStartsThreadsAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>
    /// Clients that download files slowly use a descriptor for the connection and one for the file. With TCP, the
    /// socket would buffer the whole file.
    /// </summary>
    [Fact]
    public async Task Descriptors_InUseByFiles_ThreadsHaveTheirs()
    {
        await using var server = await FaultedServer.StartAsync(
            new ServerSetup(ServerEngine.Epoll, IsUnix: true), LimitDescriptors(1024), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 470; i++)
            clients.Add(await server.ConnectAsync());
        foreach (var client in clients)
            await client.SendAsync("/file");

        await server.WaitForOutputAsync("Too many open files");
        await AssertStartsThreadsAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>
    /// Blocked handlers leave the last threads to .NET, which ends the process if its pool cannot start one: more
    /// requests that block than there are threads do not end it. With pipes, handlers block on threads of .NET's pool,
    /// which grows slowly.
    /// </summary>
    [ThreadGroupTheory, MemberData(nameof(ServerSetup.Epoll), MemberType = typeof(ServerSetup))]
    [Trait("Category", "Users")]
    public async Task Threads_AllInUse_ThePoolHasSomeLeft(ServerSetup setup)
    {
        using var group = ControlGroup.TryCreateOfThreads(200)!;
        await using var server = await FaultedServer.StartAsync(setup, group.Starter, isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 300; i++)
        {
            clients.Add(await server.ConnectAsync());
            await clients[i].SendAsync("/block/2000");
        }

        await server.WaitForOutputAsync("no threads left");
        Assert.Equal("started", await kept.GetAsync("/start-threads"));
        foreach (var client in clients)
            Assert.Equal("awake", await client.ReadTextAsync());
        await AssertServesAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>
    /// The most memory that a hostile connection can hold at the default limits. It prints the figures in
    /// docs/robustness.md.
    /// </summary>
    [Theory]
    [InlineData("parameters that do not end", 10, 20_000_000)]
    [InlineData(Bodies, 2, 200_000_000)]
    public async Task Connection_AHundredRequests_MemoryIsBounded(string what, int connections, long most)
    {
        await using var server = await FaultedServer.StartAsync(
            new ServerSetup(ServerEngine.Epoll, IsUnix: false), isFaulted: false);
        await RunAsync(server, 100, 20, static client => client.GetAsync("/bytes/100"));
        var before = await server.GetUsageAsync();
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < connections; i++)
        {
            clients.Add(await server.ConnectAsync());
            await SendAtTheLimitsAsync(clients[i], what);
        }

        var held = ((await server.GetUsageAsync()).ResidentBytes - before.ResidentBytes) / connections;
        output.WriteLine($"{what}: {held} bytes a connection");
        Assert.InRange(held, 0, most);
        clients.ForEach(static client => client.Dispose());
        await server.SettleAsync(before, descriptors: 40, threads: s_threads);
    }

    /// <summary>
    /// A heap a few times larger than the readers' data. The server cannot survive a full heap: .NET may end the
    /// process.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Heap_Small_ReadersAreServed(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(
            setup, ["DOTNET_GCHeapHardLimit=0x6000000"], isFaulted: false);
        var before = await server.GetUsageAsync();
        await RunAsync(server, s_isLong ? 150 : 20, 150, ReadSlowlyAsync);

        Assert.False(server.HasExited, server.Output);
        await server.SettleAsync(before, descriptors: 60, s_threads);
    }

    private static async Task RunAsync(FaultedServer server, int count, int atOnce, Func<FastCgiClient, Task> run)
    {
        using var turns = new SemaphoreSlim(atOnce);
        await Task.WhenAll(Enumerable.Range(0, count).Select(async _ =>
        {
            await turns.WaitAsync();
            try
            {
                using var client = await server.ConnectAsync();
                await run(client);
            }
            finally
            {
                turns.Release();
            }
        }));
    }

    private static async Task SendAtTheLimitsAsync(FastCgiClient client, string what)
    {
        const int Requests = 100;
        const int Length = 64_000;
        var content = new byte[Length];
        for (var id = 1; id <= Requests; id++)
        {
            byte[] begin = what == Bodies
                ?
                [
                    .. RecordBytes.Begin(id),
                    .. RecordBytes.ParamsStream(
                        id, RecordBytes.RequestParams("POST", "/block/4000", ("CONTENT_LENGTH", "20000000"))),
                ]
                // The beginning of a pair that is longer than the limit for all pairs.
                :
                [
                    .. RecordBytes.Begin(id),
                    .. RecordBytes.Record(
                        RecordBytes.Params, id, RecordBytes.Pair([], new byte[4 * Length]).AsSpan(..Length)),
                    .. RecordBytes.Record(RecordBytes.Params, id, content),
                ];
            await client.SendAsync(begin);
        }

        for (var i = 0; what == Bodies && i < 16 * Requests; i++)
            await client.SendAsync(RecordBytes.Record(RecordBytes.Stdin, 1 + (i % Requests), content));
    }

    /// <summary>Each record waits for those of all other clients.</summary>
    private static async Task ReadSlowlyAsync(FastCgiClient client)
    {
        await client.SendAsync("/bytes/" + LargeLength.ToString(CultureInfo.InvariantCulture));
        long length = 0;
        while (await client.ReadRecordAsync() is { Type: not RecordBytes.EndRequest } record)
        {
            length += record.Content.Length;
            await Task.Yield();
        }

        if (length < LargeLength)
            throw new EndOfStreamException();
        Assert.InRange(length, LargeLength, LargeLength + 200);
    }

    private static async Task SendSlowlyAsync(FastCgiClient client)
    {
        var request = RecordBytes.Post(1, "/slow", new byte[2_000]);
        for (var i = 0; i < request.Length; i += 100)
        {
            await client.SendAsync(request[i..Math.Min(request.Length, i + 100)]);
            await Task.Yield();
        }

        await client.ReadTextAsync();
    }

    private static Task AssertServesAsync(FaultedServer server, FastCgiClient client)
        => AssertAnswersAsync(server, client, "/block/1", "awake");

    private static Task AssertStartsThreadsAsync(FaultedServer server, FastCgiClient client)
        => AssertAnswersAsync(server, client, "/start-threads", "started");

    private static async Task AssertAnswersAsync(FaultedServer server, FastCgiClient client, string uri, string answer)
    {
        try
        {
            Assert.Equal(answer, await client.GetAsync(uri));
        }
        catch (IOException exception)
        {
            Assert.Fail($"{exception.Message} {server.Output}");
        }
    }

    /// <summary>A command that starts a server with a limit of descriptors.</summary>
    private static string[] LimitDescriptors(int count) => ["sh", "-c", $"ulimit -n {count}; exec env \"$@\"", "sh"];
}
