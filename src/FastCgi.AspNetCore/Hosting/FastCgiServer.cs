using System.Diagnostics.Metrics;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Selects the endpoints, listens, and shuts down gracefully.</summary>
/// <remarks>The optional services are those of a host, which a service collection alone does not have.</remarks>
internal sealed partial class FastCgiServer(
    IOptions<FastCgiServerOptions> options,
    PreviousServer previousServer,
    KestrelSettings kestrelSettings,
    HttpsRedirection httpsRedirection,
    ServerAddresses addresses,
    IServiceProvider services,
    IEnumerable<IConnectionListenerFactory> listenerFactories,
    IMeterFactory meters,
    EventJournal journal,
    ServerTime serverTime,
    IConfiguration? configuration = null,
    IHostEnvironment? environment = null,
    IWebHostEnvironment? webEnvironment = null,
    IHostApplicationLifetime? lifetime = null)
    : IServer
{
    private readonly ILogger _log = journal;
    private readonly TimeProvider _time = serverTime.Provider;
    private readonly List<TransportListener> _listeners = [];
    private readonly Lock _stopLock = new();
    private readonly CancellationTokenSource _stopNow = new();
    private readonly CancellationTokenSource _startCanceled = new();

    // Whether the start has succeeded, as soon as it is over.
    private readonly TaskCompletionSource<bool> _startEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Exists as soon as a stop begins. Its continuations need no thread of the pool, which handlers may block.
    private TaskCompletionSource? _stopped;
    private Engine? _engine;
    private SystemdNotifier? _notifier;
    private Doctor? _doctor;
    private bool _isStarted;
    private long _startedAt;

    public IFeatureCollection Features { get; } =
        new FeatureCollection { [typeof(IServerAddressesFeature)] = addresses };
    public DateTimeOffset StartedAt { get; private set; }

    /// <summary>The time since the start, independent of changes to the system clock.</summary>
    public TimeSpan Uptime => _time.GetElapsedTime(_startedAt);
    public DateTimeOffset Now => _time.GetUtcNow();
    public EventJournal Journal => journal;
    public bool HasStatusEndpoint { get; set; }

    /// <summary><see langword="null"/> before the start, and if advice is disabled.</summary>
    public OperatorAdvisor? Advisor { get; private set; }
    public RequestScheduler? Scheduler { get; private set; }

    /// <summary>Whether to receive over epoll. Tests of other systems change it before the start.</summary>
    public bool UsesEpoll { get; set; } = OperatingSystem.IsLinux();
    public bool HasEpoll => UsesEpoll && _engine is not null;
    public IReadOnlyList<EndPoint> EndPoints => [.. _listeners.Select(static listener => listener.EndPoint)];
    public bool IsRunning => _startEnded.Task.IsCompleted && _startEnded.Task.Result && !IsStopping;
    public bool IsStopping => Volatile.Read(ref _stopped) is not null;
    public FastCgiServerOptions Options => options.Value;
    public ConnectionManager? Connections { get; private set; }
    public ServerContext? Context { get; private set; }
    private bool IsDevelopment => environment?.IsDevelopment() == true;

    public async Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        using (_stopLock.Acquire())
        {
            if (_isStarted || _stopped is not null)
                throw new InvalidOperationException("The server has already been started or stopped.");
            _isStarted = true;
        }

        using var giveUp = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _startCanceled.Token);
        try
        {
            await StartCoreAsync(application, giveUp.Token).ConfigureAwait(false);
            _startEnded.SetResult(true);
        }
        catch
        {
            // Close bound endpoints.
            _startEnded.SetResult(false);
            await StopAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);
            throw;
        }
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        bool isFirst;
        TaskCompletionSource stopped;
        using (_stopLock.Acquire())
        {
            isFirst = _stopped is null;
            stopped = _stopped ??= new TaskCompletionSource();
        }

        // A later call may cancel sooner: Dispose does not wait.
        using var registration = cancellationToken.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), _stopNow);
        if (isFirst)
        {
            await StopCoreAsync(_stopNow.Token).ConfigureAwait(false);
            stopped.SetResult();
        }
        else
        {
            await stopped.Task.ConfigureAwait(false);
        }
    }

    public void Dispose()
    {
        StopAsync(new CancellationToken(canceled: true)).GetAwaiter().GetResult();
        previousServer.Dispose();
    }

    private async Task StartCoreAsync<TContext>(
        IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        // Set this first, because the status can be read as soon as there are connections.
        StartedAt = _time.GetUtcNow();
        _startedAt = _time.GetTimestamp();
        kestrelSettings.Report(Options, _log);
        foreach (var root in Options.SendFile.Roots.Where(static root => !Directory.Exists(root.Folder)))
            _log.SendFileFolderMissing(root.Folder);
        var hasHttpEndpoints = PreviousServer.HasOwnEndpoints(configuration) || kestrelSettings.HasEndpoints;
        var inherited = InheritedSockets.OfThisProcess;
        var plan = EndpointPlan.Make(
            Options, addresses, configuration, hasHttpEndpoints, IsDevelopment, inherited, _log);
        var forwardedHeaders = configuration?["ForwardedHeaders_Enabled"];
        if (plan.FastCgi.Count > 0 && string.Equals(forwardedHeaders, "true", StringComparison.OrdinalIgnoreCase))
            _log.ForwardedHeadersEnabled();

        Advisor = Options.EnableAdvice ? new OperatorAdvisor(_log, _time) : null;
        var statusPages = HasStatusEndpoint ? StatusEndpoints.Find(services) : [];
        CreateCore(application, [.. statusPages.Select(static endpoint => endpoint.Path)]);
        if (plan.FastCgi.Count > 0)
            _engine = CreateEngine(Connections, Scheduler);
        var servesHttp = plan.Http.Count > 0 || hasHttpEndpoints;
        var mayLeaveOut = servesHttp && IsDevelopment;
        foreach (var endpoint in plan.FastCgi)
        {
            var listener = await ListenAsync(
                endpoint, inherited, mayLeaveOut, _engine!, cancellationToken).ConfigureAwait(false);
            if (listener is not null)
                _listeners.Add(listener);
        }

        if (servesHttp)
        {
            await previousServer.StartAsync(plan.Http, addresses.PreferHostingUrls, application, cancellationToken)
                .ConfigureAwait(false);
        }

        // No await below: a concurrent stop must see every field. The linked token may be canceled late: check both.
        _startCanceled.Token.ThrowIfCancellationRequested();
        cancellationToken.ThrowIfCancellationRequested();
        Connections.Start(StopWhenIdle, previousServer.GetUse);
        _engine?.Start();
        Scheduler.Start();
        foreach (var listener in _listeners)
            listener.Start();
        PublishAddresses();
        LogStatusEndpoints(statusPages);
        if (Advisor is not null)
        {
            ReportWebRoot(webEnvironment, AppContext.BaseDirectory, _log);
            if (plan.FastCgi.Count > 0 && !IsDevelopment)
                httpsRedirection.Report(configuration, addresses, _log);
            _doctor = new Doctor(Connections, Scheduler, Advisor, journal, _time)
            {
                IsSpawned = plan.FastCgi.Any(
                    static endpoint => endpoint.EndPoint is FileHandleEndPoint { FileHandle: 0 }),
            };
            _doctor.Start();
        }

        _notifier = SystemdNotifier.Create(
            Environment.GetEnvironmentVariable, () => _engine?.HaveLoopsAnswered() ?? true, _log, _time);
        _notifier?.Ready(_listeners.Count, cancellationToken);
    }

    [MemberNotNull(nameof(Scheduler), nameof(Connections))]
    private void CreateCore<TContext>(IHttpApplication<TContext> application, IReadOnlyList<string> statusPaths)
        where TContext : notnull
    {
        Scheduler = new RequestScheduler(Options.Transport, LinuxThreadPlatform.Create(_log), _time, _log);
        Context = ServerContext.Create(
            Options, application, _log, _time, Scheduler.Watchdog.TrySetDeadline, ResourceLimits.GetDescriptors,
            Advisor, statusPaths);
        var meter = meters.Create(ServerMetrics.MeterName);
        Connections = new ConnectionManager(Context, ServerMetrics.CreateDurations(meter));
        ServerMetrics.Observe(meter, Context, Connections, Scheduler);
    }

    private async Task StopCoreAsync(CancellationToken cancellationToken)
    {
        // Otherwise, a start in progress would listen after the stop.
        if (_isStarted && !_startEnded.Task.IsCompleted)
        {
            await RunStepAsync("canceling the start", _startCanceled.CancelAsync).ConfigureAwait(false);
            await _startEnded.Task.ConfigureAwait(false);
        }

        await RunStepAsync("notifying systemd", () => _notifier?.Stopping()).ConfigureAwait(false);
        await RunStepAsync("moving queues to other threads", () => Scheduler?.BeginStop()).ConfigureAwait(false);
        await Task.WhenAll(_listeners.Select(listener => RunStepAsync(
            "closing the endpoint " + listener.EndPoint,
            () => listener.StopAsync(cancellationToken)))).ConfigureAwait(false);
        await Task.WhenAll(
            RunStepAsync("finishing the requests", () => Connections?.StopAsync(cancellationToken)),
            RunStepAsync("stopping Kestrel", () => previousServer.StopAsync(cancellationToken))).ConfigureAwait(false);
        await RunStepAsync("stopping the configuration checks", () => _doctor?.Dispose()).ConfigureAwait(false);
        await RunStepAsync("stopping the event loops", () => _engine?.Stop()).ConfigureAwait(false);
        await RunStepAsync("stopping the worker threads", () => Scheduler?.Stop()).ConfigureAwait(false);
        await RunStepAsync("stopping the systemd notifications", () => _notifier?.Dispose()).ConfigureAwait(false);
    }

    private Task RunStepAsync(string step, Action action) => RunStepAsync(step, () =>
    {
        action();
        return null;
    });

    /// <summary>Runs a step of the stop. A failure does not prevent the others.</summary>
    private async Task RunStepAsync(string step, Func<Task?> action)
    {
        try
        {
            if (action() is { } task)
                await task.ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The shutdown timed out.
        }
        catch (Exception exception)
        {
            ThreadRoot.ReportAndWait(_log, log => log.StopStepFailed(step, exception));
        }
    }

    // On the thread pool: callbacks of the application must not keep the thread of the clock.
    private void StopWhenIdle() => ThreadRoot.Report(_log, log =>
    {
        log.IdleExit(Options.IdleExit.GetValueOrDefault());
        lifetime?.StopApplication();
    });
}
