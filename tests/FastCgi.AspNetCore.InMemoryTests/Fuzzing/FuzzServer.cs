namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>A server without hosting, sockets, or a clock, for hundreds of thousands of connections.</summary>
internal sealed class FuzzServer : ILogger
{
    private readonly ConcurrentQueue<string> _errors = new();
    private readonly RequestScheduler _scheduler;

    public FuzzServer(IHttpApplication<IFeatureCollection> application)
    {
        // A limit that is never reached, so that slots are counted.
        var options = new FastCgiServerOptions
        {
            Transport = { ApplicationScheduling = FastCgiApplicationScheduling.Inline },
            Limits = { MaxConcurrentRequests = 1_000_000 },
        };
        _scheduler = new RequestScheduler(
            options.Transport, LinuxThreadPlatform.Create(this), TimeProvider.System, this);
        Context = ServerContext.Create(options, application, this, new FakeClock(), _scheduler.Watchdog.TrySetDeadline);
        Connections = new ConnectionManager(Context);
    }

    public ServerContext Context { get; }

    public ConnectionManager Connections { get; }

    /// <summary>Whether messages of all levels are formatted, as at Trace, which dominates the cost.</summary>
    public bool LogsAll { get; set; }

    /// <summary>Opens a connection that ends only when the test closes it.</summary>
    public MemoryTransport Connect() => new(Connections) { HoldsReset = true };

    public void Push(FastCgiConnection connection, ReadOnlySpan<byte> bytes)
    {
        var ready = new ReadyRequests();
        connection.OnReceived(bytes, ref ready);
        _scheduler.Run(ref ready, connection.Output);
    }

    public static void Close(FastCgiConnection connection)
        => connection.OnClosed(new ConnectionResetException("The web server closed the connection."));

    /// <summary>Fails if anything leaked, or an error occurred in the server.</summary>
    public void AssertNothingIsLeft()
    {
        if (_errors.TryPeek(out var error))
            Assert.Fail(error);
        if (Invariants.FirstViolation is { } violation)
            Assert.Fail(violation.ToString());
        if (Connections.Count != 0 || !SpinWait.SpinUntil(() => Context.Buffers.RentedCount == 0, Waiting.Patience))
            Assert.Fail($"{Connections.Count} connections and {Context.Buffers.RentedCount} buffers are left.");
        if (!SpinWait.SpinUntil(() => Context.Admission.TakenCount == (0, 0), Waiting.Patience))
            Assert.Fail($"{Context.Admission.TakenCount.Ordinary} places are left.");
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => LogsAll || logLevel >= LogLevel.Error;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception,
        Func<TState, Exception?, string> formatter)
    {
        var message = formatter(state, exception);
        if (logLevel >= LogLevel.Error)
            _errors.Enqueue($"{eventId.Name}: {message} {exception}");
    }
}

/// <summary>Does nothing, at once.</summary>
internal sealed class NullApplication : IHttpApplication<IFeatureCollection>
{
    public IFeatureCollection CreateContext(IFeatureCollection contextFeatures) => contextFeatures;

    public Task ProcessRequestAsync(IFeatureCollection context) => Task.CompletedTask;

    public void DisposeContext(IFeatureCollection context, Exception? exception)
    {
    }
}
