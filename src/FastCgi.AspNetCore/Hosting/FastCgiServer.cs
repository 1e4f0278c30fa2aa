using System.Diagnostics.Metrics;
using FastCgi.AspNetCore.Advice;
using FastCgi.AspNetCore.Hosting.Configuration;
using FastCgi.AspNetCore.Hosting.Endpoints;
using FastCgi.AspNetCore.Transport;
using FastCgi.AspNetCore.Transport.Epoll;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.Hosting;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Selects the endpoints, listens, and shuts down gracefully.</summary>
internal sealed partial class FastCgiServer : IServer
{
    private readonly IOptions<FastCgiServerOptions> _options;
    private readonly HttpServer _httpServer;
    private readonly KestrelSettings _kestrelSettings;
    private readonly HttpsRedirection _httpsRedirection;
    private readonly StatusEndpoints _statusEndpoints;
    private readonly IEnumerable<IConnectionListenerFactory> _listenerFactories;
    private readonly IMeterFactory _meters;
    private readonly IConfiguration? _configuration;
    private readonly IHostEnvironment? _environment;
    private readonly IWebHostEnvironment? _webEnvironment;
    private readonly IHostApplicationLifetime? _lifetime;
    private readonly ILogger _log;
    private readonly ILoggerFactory _loggers;
    private readonly TimeProvider _time;
    private readonly ServerAddresses _addresses = new();
    private readonly List<TransportListener> _listeners = [];
    private readonly Lock _stopLock = new();
    private readonly CancellationTokenSource _stopNow = new();
    private readonly CancellationTokenSource _startGivenUp = new();
    private readonly TaskCompletionSource _startEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private EpollEngine? _engine;
    private SystemdNotifier? _notifier;
    private Doctor? _doctor;
    private Task? _stopping;
    private bool _isStarted;
    private bool _isRunning;
    private long _startedAt;

    /// <remarks>The optional services are those of a host, which a service collection alone does not have.</remarks>
    public FastCgiServer(
        IOptions<FastCgiServerOptions> options,
        HttpServer httpServer,
        KestrelSettings kestrelSettings,
        HttpsRedirection httpsRedirection,
        StatusEndpoints statusEndpoints,
        IEnumerable<IConnectionListenerFactory> listenerFactories,
        IMeterFactory meters,
        ILoggerFactory loggerFactory,
        IConfiguration? configuration = null,
        IHostEnvironment? environment = null,
        IWebHostEnvironment? webEnvironment = null,
        IHostApplicationLifetime? lifetime = null,
        ServerTime? time = null)
    {
        _options = options;
        _httpServer = httpServer;
        _kestrelSettings = kestrelSettings;
        _httpsRedirection = httpsRedirection;
        _statusEndpoints = statusEndpoints;
        _listenerFactories = listenerFactories;
        _meters = meters;
        _configuration = configuration;
        _environment = environment;
        _webEnvironment = webEnvironment;
        _lifetime = lifetime;
        _loggers = loggerFactory;
        _time = time?.Provider ?? TimeProvider.System;
        Journal = new EventJournal(loggerFactory.CreateLogger("FastCgi.AspNetCore"), _time);
        _log = SafeLogger.Wrap(Journal);
        Features.Set<IServerAddressesFeature>(_addresses);
    }

    public IFeatureCollection Features { get; } = new FeatureCollection();
    public DateTimeOffset StartedAt { get; private set; }

    /// <summary>Independent of changes to the system clock.</summary>
    public TimeSpan Uptime => _time.GetElapsedTime(_startedAt);
    public DateTimeOffset Now => _time.GetUtcNow();
    public EventJournal Journal { get; }
    public bool HasStatusEndpoint { get; set; }

    /// <summary><see langword="null"/> before the start, and if advice is disabled.</summary>
    public OperatorAdvisor? Advisor { get; private set; }
    public RequestScheduler? Scheduler { get; private set; }
    public bool HasEpoll => _engine is not null;
    public IReadOnlyList<EndPoint> EndPoints => [.. _listeners.Select(static listener => listener.EndPoint)];
    public bool IsRunning => Volatile.Read(ref _isRunning) && _stopping is null;
    public bool IsStopping => Volatile.Read(ref _stopping) is not null;
    public FastCgiServerOptions Options => _options.Value;
    public ConnectionManager? Connections { get; private set; }
    public ServerContext? Context { get; private set; }
    private bool IsDevelopment => _environment?.IsDevelopment() == true;

    public async Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        lock (_stopLock)
        {
            if (_isStarted || _stopping is not null)
                throw new InvalidOperationException("The server has already been started or stopped.");
            _isStarted = true;
        }

        using var giveUp = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _startGivenUp.Token);
        try
        {
            await StartCoreAsync(application, giveUp.Token).ConfigureAwait(false);
            _startEnded.SetResult();
        }
        catch
        {
            // Clean up what was bound.
            _startEnded.SetResult();
            await StopAsync(new CancellationToken(canceled: true)).ConfigureAwait(false);
            throw;
        }
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        Task stopping;
        lock (_stopLock)
            stopping = _stopping ??= StopCoreAsync(_stopNow.Token);

        // A later call may cancel sooner: Dispose does not wait.
        using var registration = cancellationToken.UnsafeRegister(
            static state => ((CancellationTokenSource)state!).Cancel(), _stopNow);
        await stopping.ConfigureAwait(false);
    }

    public void Dispose()
    {
        StopAsync(new CancellationToken(canceled: true)).GetAwaiter().GetResult();
        _httpServer.Dispose();
    }

    private async Task StartCoreAsync<TContext>(
        IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        // First, because the status can be read as soon as there are connections.
        StartedAt = _time.GetUtcNow();
        _startedAt = _time.GetTimestamp();
        var options = _options.Value;
        _kestrelSettings.Report(options, _log);
        foreach (var root in options.SendFile.Roots.Where(static root => !Directory.Exists(root.Folder)))
            _log.SendFileFolderMissing(root.Folder);
        var hasHttpEndpoints = HttpServer.HasOwnEndpoints(_configuration) || _kestrelSettings.HasEndpoints;
        var inherited = InheritedSockets.OfThisProcess;
        var plan = EndpointPlan.Make(
            options, _addresses, _configuration, hasHttpEndpoints, IsDevelopment, inherited, _log);
        var forwardedHeaders = _configuration?["ForwardedHeaders_Enabled"];
        if (plan.FastCgi.Count > 0 && string.Equals(forwardedHeaders, "true", StringComparison.OrdinalIgnoreCase))
            _log.ForwardedHeadersEnabled();

        var log = SafeLogger.Wrap(_log);
        Advisor = options.EnableAdvice ? new OperatorAdvisor(log, _time) : null;
        var statusEndpoints = HasStatusEndpoint ? _statusEndpoints.Find() : [];
        (Scheduler, Connections) = CreateCore(
            options, application, log, [.. statusEndpoints.Select(static endpoint => endpoint.Path)]);
        if (plan.FastCgi.Count > 0 && UsesEpoll(options.Transport.Engine))
            _engine = CreateEpollEngine(
                Connections, Scheduler, isRequired: options.Transport.Engine == FastCgiTransportEngine.Epoll);
        var servesHttp = plan.Http.Count > 0 || hasHttpEndpoints;
        var mayLeaveOut = servesHttp && IsDevelopment;
        foreach (var endpoint in plan.FastCgi)
        {
            if (await ListenAsync(endpoint, inherited, mayLeaveOut, cancellationToken).ConfigureAwait(
                false) is { } listener)
                _listeners.Add(listener);
        }

        if (servesHttp)
        {
            await _httpServer.StartAsync(plan.Http, _addresses.PreferHostingUrls, application, cancellationToken)
                .ConfigureAwait(false);
        }

        // Do not await from here on, so that a stop sees everything. The token may report an earlier stop a little
        // later.
        _startGivenUp.Token.ThrowIfCancellationRequested();
        cancellationToken.ThrowIfCancellationRequested();
        Connections.Start(StopWhenIdle);
        _engine?.Start();
        Scheduler.Start();
        foreach (var listener in _listeners)
            listener.Start();
        PublishAddresses();
        LogStatusEndpoints(statusEndpoints);
        if (Advisor is not null)
        {
            WebRoot.Report(_webEnvironment, AppContext.BaseDirectory, _log);
            if (plan.FastCgi.Count > 0 && !IsDevelopment)
                _httpsRedirection.Report(_configuration, _addresses, _log);
            _doctor = new Doctor(Connections, Scheduler, Advisor, Journal, _time)
            {
                IsSpawned = plan.FastCgi.Any(
                    static endpoint => endpoint.EndPoint is FileHandleEndPoint { FileHandle: 0 }),
            };
            _doctor.Start();
        }

        Volatile.Write(ref _isRunning, true);

        _notifier = SystemdNotifier.Create(Environment.GetEnvironmentVariable, _log, _time);
        _notifier?.Ready(_listeners.Count);
    }

    private (RequestScheduler Scheduler, ConnectionManager Connections) CreateCore<TContext>(
        FastCgiServerOptions options, IHttpApplication<TContext> application, ILogger log,
            IReadOnlyList<string> statusPaths)
        where TContext : notnull
    {
        var scheduler = new RequestScheduler(options.Transport, LinuxThreadPlatform.Create(log), _time, log);
        Context = RequestServer.Create(
            options, application, log, _time, scheduler.Watchdog.TrySetDeadline, RecordLog.Create(_loggers),
            ResourceLimits.GetDescriptors,
            Advisor, statusPaths);
        var meter = _meters.Create(ServerMetrics.MeterName);
        var connections = new ConnectionManager(Context, ServerMetrics.CreateDurations(meter));
        ServerMetrics.Observe(meter, Context, connections, scheduler);
        return (scheduler, connections);
    }

    private async Task StopCoreAsync(CancellationToken cancellationToken)
    {
        // Otherwise, a start in progress would listen after the stop.
        if (_isStarted && !_startEnded.Task.IsCompleted)
        {
            await RunStepAsync("canceling the start", _startGivenUp.CancelAsync).ConfigureAwait(false);
            await _startEnded.Task.ConfigureAwait(false);
        }

        await RunStepAsync("notifying systemd", () => _notifier?.Stopping()).ConfigureAwait(false);
        await RunStepAsync("moving queues to other threads", () => Scheduler?.BeginStop()).ConfigureAwait(false);
        await Task.WhenAll(_listeners.Select(listener => RunStepAsync(
            "closing the endpoint " + listener.EndPoint,
            () => listener.StopAsync(cancellationToken)))).ConfigureAwait(false);
        await Task.WhenAll(
            RunStepAsync("finishing the requests", () => Connections?.StopAsync(cancellationToken)),
            RunStepAsync("stopping Kestrel", () => _httpServer.StopAsync(cancellationToken))).ConfigureAwait(false);
        await RunStepAsync("completing the record log", () => Context?.Records?.Complete()).ConfigureAwait(false);
        await RunStepAsync("stopping the configuration checks", () => _doctor?.Dispose()).ConfigureAwait(false);
        await RunStepAsync("stopping the worker threads", () => Scheduler?.Stop()).ConfigureAwait(false);
        await RunStepAsync("stopping the event loops", () => _engine?.Stop()).ConfigureAwait(false);
        await RunStepAsync("stopping the systemd notifications", () => _notifier?.Dispose()).ConfigureAwait(false);
    }

    private Task RunStepAsync(string step, Action action) => RunStepAsync(step, () =>
    {
        action();
        return null;
    });

    /// <summary>A failed step does not prevent the others.</summary>
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
            _log.StopStepFailed(step, exception);
        }
    }

    private void StopWhenIdle()
    {
        _log.IdleExit(_options.Value.IdleExit.GetValueOrDefault());
        _lifetime?.StopApplication();
    }
}
