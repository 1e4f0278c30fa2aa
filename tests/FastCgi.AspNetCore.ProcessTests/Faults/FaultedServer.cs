namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>How the server gets the bytes.</summary>
public enum ServerEngine
{
    Epoll,

    /// <summary>Over .NET's sockets, as on other systems than Linux.</summary>
    Socket,
}

/// <summary>An engine with a kind of socket.</summary>
public sealed record ServerSetup(ServerEngine Engine, bool IsUnix)
{
    public static TheoryData<ServerSetup> All => [.. Epoll, .. Of(ServerEngine.Socket)];

    public static TheoryData<ServerSetup> Epoll => [.. Of(ServerEngine.Epoll)];

    private static IEnumerable<ServerSetup> Of(ServerEngine engine)
        => [new(engine, IsUnix: false), new(engine, IsUnix: true)];

    public override string ToString() => $"{Engine} {(IsUnix ? "unix" : "TCP")}";
}

/// <summary>The resources that a server uses.</summary>
internal sealed record Usage(
    int Connections, int Requests, int Buffers, int Descriptors, int Threads, long ResidentBytes);

/// <summary>The application in a separate process, whose resources the tests observe.</summary>
internal sealed class FaultedServer : IAsyncDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _port = new();
    private readonly ServerProcess _process;

    private FaultedServer(
        ServerSetup setup,
        string[] environment,
        string[] arguments,
        bool isFaulted,
        (SystemCall Call, int Error)? fault)
    {
        Plan = new FaultPlan(_folder);
        if (fault is { } first)
            Plan.FailNext(first.Call, first.Error, 1);
        // Checking the peer makes a system call, which can fail.
        var isAllowed = setup.IsUnix ? "?allowedUsers=" + Environment.UserName : "?allowedAddresses=127.0.0.1";
        Address = setup.IsUnix ? $"fastcgi://unix:{_folder.GetPath("app.sock")}" : $"fastcgi://{_port.EndPoint}";
        string[] faults = isFaulted ? Plan.Environment : [];
        _process = ServerProcess.Start(
            "env",
            [
                .. faults, .. environment, "APPLICATION_ENGINE=" + setup.Engine,
                Path.Combine(AppContext.BaseDirectory, "ApplicationToStart"),
                "--urls", Address + isAllowed, "--shutdownTimeoutSeconds=5", "--Logging:LogLevel:Default=Warning",
                "--Logging:LogLevel:Microsoft.Hosting.Lifetime=Information", .. arguments,
            ],
            _folder.Path);
    }

    public FaultPlan Plan { get; }

    public string Address { get; }

    public string ProcessId { get; private set; } = "";

    public string Output => _process.Output;

    public bool HasExited => _process.HasExited;

    /// <summary>Starts the application and waits until it has started.</summary>
    /// <param name="environment">
    /// Variables of its process, <c>NAME=value</c>, or a command that starts the rest.
    /// </param>
    public static async Task<FaultedServer> StartAsync(
        ServerSetup setup, string[]? environment = null, string[]? arguments = null, bool isFaulted = true)
    {
        var server = Begin(setup, environment, arguments, isFaulted);
        try
        {
            await server.WaitForStartAsync();
            return server;
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }
    }

    /// <summary>Starts the application.</summary>
    /// <param name="environment">
    /// Variables of its process, <c>NAME=value</c>, or a command that starts the rest.
    /// </param>
    public static FaultedServer Begin(
        ServerSetup setup,
        string[]? environment = null,
        string[]? arguments = null,
        bool isFaulted = true,
        (SystemCall Call, int Error)? fault = null)
        => new(setup, environment ?? [], arguments ?? [], isFaulted, fault);

    public async Task WaitForStartAsync()
    {
        await WaitForOutputAsync("Application started.");
        ProcessId = (await FastCgiClient.GetAsync(Address, "/state")).Split(' ')[0];
    }

    public Task WaitForOutputAsync(string text) => _process.WaitForOutputAsync(text);

    public Task<int> WaitForExitAsync() => _process.WaitForExitAsync(Waiting.Patience);

    public Task<FastCgiClient> ConnectAsync() => FastCgiClient.ConnectAsync(Address);

    /// <summary>Waits until a new connection is served again.</summary>
    public Task WaitForRecoveryAsync(Func<bool>? isOver = null) => Waiting.UntilAsync(
        async () => await TryGetAsync() && isOver?.Invoke() != false,
        () => HasExited ? Output : null,
        "the server to recover");

    /// <summary>The resources in use, without the connection that asks.</summary>
    public async Task<Usage> GetUsageAsync()
    {
        var state = (await FastCgiClient.GetAsync(Address, "/state"))
            .Split(' ')
            .Select(static text => int.Parse(text, CultureInfo.InvariantCulture))
            .ToArray();
        var status = await File.ReadAllLinesAsync($"/proc/{ProcessId}/status");
        return new Usage(
            state[1] - 1,
            state[2] - 1,
            state[3],
            Directory.EnumerateFileSystemEntries($"/proc/{ProcessId}/fd").Count(),
            (int)GetNumber(status, "Threads:"),
            GetNumber(status, "VmRSS:") * 1024);
    }

    /// <summary>Waits until the server uses no more than before.</summary>
    /// <param name="descriptors">The number of additional descriptors to allow: the runtime opens files.</param>
    /// <param name="threads">The number of additional threads to allow: the pool keeps idle threads.</param>
    public async Task<Usage> SettleAsync(Usage before, int descriptors, int threads)
    {
        Usage? last = null;
        try
        {
            await Waiting.UntilAsync(
                async () =>
                {
                    last = await GetUsageAsync();
                    return last.Connections == 0 && last.Requests == 0 && last.Buffers <= before.Buffers
                        && last.Descriptors <= before.Descriptors + descriptors
                            && last.Threads <= before.Threads + threads;
                },
                () => HasExited ? Output : null,
                "the server to settle");
        }
        catch (TimeoutException)
        {
            Assert.Fail($"Before: {before}. Now: {last}. {Output}");
        }

        return last!;
    }

    public async ValueTask DisposeAsync()
    {
        await _process.DisposeAsync();
        Plan.Dispose();
        _port.Dispose();
        _folder.Dispose();
    }

    private async Task<bool> TryGetAsync()
    {
        try
        {
            return await FastCgiClient.GetAsync(Address, "/block/1") == "awake";
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            return false;
        }
    }

    private static long GetNumber(string[] lines, string name)
        => long.Parse(
            lines.First(line => line.StartsWith(name, StringComparison.Ordinal))[name.Length..].Trim().Split(' ')[0],
            CultureInfo.InvariantCulture);
}
