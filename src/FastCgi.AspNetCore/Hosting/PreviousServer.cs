namespace FastCgi.AspNetCore.Hosting;

/// <summary>The server registered before this one, Kestrel. Created only if there are http addresses.</summary>
/// <param name="registration"><see langword="null"/> if no server was registered (<c>CreateEmptyBuilder</c>).</param>
internal sealed class PreviousServer(ServiceDescriptor? registration, IServiceProvider services)
{
    private IServer? _server;
    private long _begunCount;
    private long _endedCount;

    public IEnumerable<string> Addresses => _server?.Features.Get<IServerAddressesFeature>()?.Addresses ?? [];

    public static bool HasOwnEndpoints(IConfiguration? configuration)
        => configuration?.GetSection("Kestrel:Endpoints").GetChildren().Any() ?? false;

    /// <param name="preferAddresses">Whether the addresses override the endpoints in Kestrel's configuration.</param>
    public async Task StartAsync<TContext>(
        IReadOnlyList<string> addresses,
        bool preferAddresses,
        IHttpApplication<TContext> application,
        CancellationToken cancellationToken)
        where TContext : notnull
    {
        _server = Create() ?? throw new InvalidOperationException(
            $"No HTTP server is registered for {string.Join(", ", addresses)}. Call builder.WebHost.UseKestrelCore() "
                + "before UseFastCgi, or use fastcgi:// addresses.");

        if (_server.Features.Get<IServerAddressesFeature>() is { } feature)
        {
            feature.PreferHostingUrls = preferAddresses;
            foreach (var address in addresses)
                feature.Addresses.Add(address);
        }

        var counted = new CountedApplication<TContext>(application, this);
        await _server.StartAsync(counted, cancellationToken).ConfigureAwait(false);
    }

    /// <returns>Whether requests run, and the number of requests since the start.</returns>
    public (bool IsUsed, long Count) GetUse()
    {
        var ended = Interlocked.Read(ref _endedCount);
        var begun = Interlocked.Read(ref _begunCount);
        return (begun > ended, begun);
    }

    public Task StopAsync(CancellationToken cancellationToken)
        => _server?.StopAsync(cancellationToken) ?? Task.CompletedTask;

    public void Dispose()
    {
        _server?.Dispose();
        _server = null;
    }

    private IServer? Create() => registration?.ImplementationType is { } type
        ? (IServer)ActivatorUtilities.CreateInstance(services, type)
        : (registration?.ImplementationInstance ?? registration?.ImplementationFactory?.Invoke(services)) as IServer;

    private sealed class CountedApplication<TContext>(IHttpApplication<TContext> application, PreviousServer server)
        : IHttpApplication<TContext>
        where TContext : notnull
    {
        public TContext CreateContext(IFeatureCollection contextFeatures)
        {
            var context = application.CreateContext(contextFeatures);
            Interlocked.Increment(ref server._begunCount);
            return context;
        }

        public Task ProcessRequestAsync(TContext context) => application.ProcessRequestAsync(context);

        public void DisposeContext(TContext context, Exception? exception)
        {
            Interlocked.Increment(ref server._endedCount);
            application.DisposeContext(context, exception);
        }
    }
}
