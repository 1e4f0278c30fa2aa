namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// More peers than there are descriptors and memory for, and peers that are slow, idle or gone. Afterwards the server has in use what it
/// had before. FASTCGI_RESOURCES=1 makes them as many as docs/robustness.md says; without it there are fewer.
/// </summary>
public sealed class ResourceTests(ITestOutputHelper output)
{
    // Of a heap that has grown, some stays with the process.
    private const long MemoryMargin = 60_000_000;
    private const string Bodies = "bodies that are not read";
    private const int LargeLength = 10 * 1024 * 1024;

    private static readonly bool s_isLong = Environment.GetEnvironmentVariable("FASTCGI_RESOURCES") == "1";

    // A thread of the server stays for 20 s, which only the long form waits for.
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
            // The end of what the web server sends is the end of the connection.
            await client.SendAsync("/bytes/100");
            client.EndSending();
            await client.ReadToEndAsync();
        });

        var after = await server.SettleAsync(before, descriptors: 40, threads: s_threads);
        // The pool gives half of what is free to the garbage collector now and then, which gives it to the system when it collects.
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
            clients.Add(await ConnectAsync(server));
        foreach (var client in clients)
            Assert.Equal(100, (await client.GetAsync("/bytes/100")).Length);

        clients.ForEach(static client => client.Dispose());
        await server.SettleAsync(before, descriptors: 40, threads: s_threads);
    }

    /// <summary>
    /// Connections beyond the descriptors are closed, so that the web server learns of it, and those that are there go on. What is left is enough for
    /// threads, of which each needs two: .NET ends the process when its pool cannot start one.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Descriptors_AllInUse_ServerRecoversWhenTheyAreFree(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, LimitDescriptors(640), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 700; i++)
            clients.Add(await server.ConnectAsync());

        await AssertServesAsync(server, kept);
        await Waiting.UntilAsync(
            () => Task.FromResult(server.Output.Contains("LimitNOFILE=", StringComparison.Ordinal)), () => server.HasExited ? server.Output : null, "the warning");
        await AssertStartsThreadsAsync(server, kept);
        await AssertServesAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
        await Waiting.UntilAsync(async () => await TryGetAsync(server), () => server.HasExited ? server.Output : null, "the server to recover");
        Assert.Equal(1, server.Output.Split("LimitNOFILE=").Length - 1);
    }

    /// <summary>As prlimit(1) does, while connections are few.</summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Descriptors_LimitLowered_ThreadsHaveTheirs(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, LimitDescriptors(1024), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        using (var change = Process.Start("prlimit", ["--nofile=400:1024", "--pid", server.ProcessId]))
            await change.WaitForExitAsync();
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 500; i++)
            clients.Add(await ConnectAsync(server));

        await AssertStartsThreadsAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>Clients that take files slowly: a descriptor for the connection, and one for the file. TCP would hold the whole file.</summary>
    [Theory]
    [InlineData(FastCgiTransportEngine.Epoll)]
    [InlineData(FastCgiTransportEngine.Socket)]
    public async Task Descriptors_InUseByFiles_ThreadsHaveTheirs(FastCgiTransportEngine engine)
    {
        await using var server = await FaultedServer.StartAsync(new ServerSetup(engine, IsUnix: true), LimitDescriptors(640), isFaulted: false);
        using var kept = await server.ConnectAsync();
        await AssertServesAsync(server, kept);
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < 280; i++)
            clients.Add(await ConnectAsync(server));
        foreach (var client in clients)
            await client.SendAsync("/file");

        await Waiting.UntilAsync(
            () => Task.FromResult(server.Output.Contains("Too many open files", StringComparison.Ordinal)), () => server.HasExited ? server.Output : null, "the last file");
        await AssertStartsThreadsAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>
    /// Handlers that block leave the last threads to .NET, which ends the process when its pool cannot start one: clients that ask for what blocks,
    /// more than there are threads, do not end it. On pipes, handlers block on threads of .NET's pool, which grows slowly.
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
            clients.Add(await ConnectAsync(server));
            await clients[i].SendAsync("/block/2000");
        }

        await Waiting.UntilAsync(
            () => Task.FromResult(server.Output.Contains("no threads left", StringComparison.Ordinal)), () => server.HasExited ? server.Output : null, "the warning");
        Assert.Equal("started", await kept.GetAsync("/start-threads"));
        foreach (var client in clients)
            Assert.Equal("awake", await client.ReadTextAsync());
        await AssertServesAsync(server, kept);
        clients.ForEach(static client => client.Dispose());
    }

    /// <summary>The most that a connection of a hostile peer can hold at the default limits: docs/robustness.md has the figures, which it prints.</summary>
    [Theory]
    [InlineData("parameters that do not end", 10, 20_000_000)]
    [InlineData(Bodies, 2, 200_000_000)]
    public async Task Connection_AHundredRequests_HoldsNoMoreThanSo(string what, int connections, long most)
    {
        await using var server = await FaultedServer.StartAsync(new ServerSetup(FastCgiTransportEngine.Epoll, IsUnix: false), isFaulted: false);
        await RunAsync(server, 100, 20, static client => client.GetAsync("/bytes/100"));
        var before = await server.GetUsageAsync();
        var clients = new List<FastCgiClient>();
        for (var i = 0; i < connections; i++)
        {
            clients.Add(await ConnectAsync(server));
            await SendAtTheLimitsAsync(clients[i], what);
        }

        var held = ((await server.GetUsageAsync()).ResidentBytes - before.ResidentBytes) / connections;
        output.WriteLine($"{what}: {held} bytes a connection");
        Assert.InRange(held, 0, most);
        clients.ForEach(static client => client.Dispose());
        await server.SettleAsync(before, descriptors: 40, threads: s_threads);
    }

    /// <summary>
    /// A heap that is a few times what the readers wait for. One that is full is not the server's to bear: .NET may end the process.
    /// </summary>
    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Heap_Small_ReadersAreServed(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, ["DOTNET_GCHeapHardLimit=0x6000000"], isFaulted: false);
        var before = await server.GetUsageAsync();
        await RunAsync(server, s_isLong ? 150 : 20, 150, ReadSlowlyAsync);

        Assert.False(server.HasExited, server.Output);
        await server.SettleAsync(before, descriptors: 60, s_threads);
    }

    /// <summary>A container of 150 MB, in which .NET chooses its limits by itself.</summary>
    [MemoryGroupTheory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    [Trait("Category", "Users")]
    public async Task Memory_150MB_PeersAreServed(ServerSetup setup)
    {
        using var group = ControlGroup.TryCreateOfMemory(150_000_000)!;
        await using var server = await FaultedServer.StartAsync(setup, group.Starter, isFaulted: false);
        var before = await server.GetUsageAsync();
        await RunAsync(server, s_isLong ? 20_000 : 500, 50, static client => client.GetAsync("/bytes/1000"));
        await RunAsync(server, s_isLong ? 150 : 20, 150, ReadSlowlyAsync);
        await RunAsync(server, s_isLong ? 1_000 : 100, 1_000, SendSlowlyAsync);
        var idle = new List<FastCgiClient>();
        // A connection takes more on .NET's sockets: 10,000 of them fill the heap.
        var idleCount = !s_isLong ? 500 : setup.Engine == FastCgiTransportEngine.Epoll ? 10_000 : 4_000;
        for (var i = 0; i < idleCount; i++)
            idle.Add(await ConnectAsync(server));
        foreach (var client in idle)
        {
            var answer = await client.GetAsync("/bytes/100");
            Assert.True(answer.Length == 100, $"{answer} {server.Output}");
        }

        idle.ForEach(static client => client.Dispose());

        await server.SettleAsync(before, descriptors: 60, s_threads);
        Assert.Equal(0, group.CountKilled());
    }

    private static async Task RunAsync(FaultedServer server, int count, int atOnce, Func<FastCgiClient, Task> run)
    {
        using var turns = new SemaphoreSlim(atOnce);
        await Task.WhenAll(Enumerable.Range(0, count).Select(async _ =>
        {
            await turns.WaitAsync();
            try
            {
                using var client = await ConnectAsync(server);
                await run(client);
            }
            finally
            {
                turns.Release();
            }
        }));
    }

    /// <summary>A unix socket whose backlog is full says so at once, as to a web server, which tries again.</summary>
    private static async Task<FastCgiClient> ConnectAsync(FaultedServer server)
    {
        while (true)
        {
            try
            {
                return await server.ConnectAsync();
            }
            catch (SocketException exception) when (exception.SocketErrorCode is SocketError.WouldBlock or SocketError.TryAgain)
            {
                await Task.Yield();
            }
        }
    }

    private static async Task SendAtTheLimitsAsync(FastCgiClient client, string what)
    {
        const int Requests = 100;
        const int Length = 64_000;
        var content = new byte[Length];
        for (var id = 1; id <= Requests; id++)
        {
            byte[] begin = what == Bodies
                ? [.. RecordBytes.Begin(id), .. RecordBytes.ParamsStream(id, RecordBytes.RequestParams("POST", "/block/4000", ("CONTENT_LENGTH", "20000000")))]
                // One pair that is longer than all of them may be, and what there is of it.
                : [.. RecordBytes.Begin(id), .. RecordBytes.Record(RecordBytes.Params, id, RecordBytes.Pair([], new byte[4 * Length]).AsSpan(..Length)), .. RecordBytes.Record(RecordBytes.Params, id, content)];
            await client.SendAsync(begin);
        }

        for (var i = 0; what == Bodies && i < 16 * Requests; i++)
            await client.SendAsync(RecordBytes.Record(RecordBytes.Stdin, 1 + (i % Requests), content));
    }

    /// <summary>Each record waits for the ones of all the others.</summary>
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

    private static Task AssertServesAsync(FaultedServer server, FastCgiClient client) => AssertAnswersAsync(server, client, "/block/1", "awake");

    private static Task AssertStartsThreadsAsync(FaultedServer server, FastCgiClient client) => AssertAnswersAsync(server, client, "/start-threads", "started");

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

    /// <summary>The command that starts a server with so many descriptors.</summary>
    private static string[] LimitDescriptors(int count) => ["sh", "-c", $"ulimit -n {count}; exec env \"$@\"", "sh"];

    private static async Task<bool> TryGetAsync(FaultedServer server)
    {
        try
        {
            return await FastCgiClient.GetAsync(server.Address, "/block/1") == "awake";
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            return false;
        }
    }
}
