using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The server registered before this one, Kestrel. Created only if there are http addresses.</summary>
/// <param name="registration"><see langword="null"/> if no server was registered (<c>CreateEmptyBuilder</c>).</param>
internal sealed class HttpServer(ServiceDescriptor? registration, IServiceProvider services)
{
    private IServer? _server;

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

        await _server.StartAsync(application, cancellationToken).ConfigureAwait(false);
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
}
