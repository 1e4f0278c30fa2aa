using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// The HTTP server that was registered before ours, which is Kestrel: it serves the http addresses of the same application, and is
/// made only if there are any.
/// </summary>
/// <param name="registration">How to make it; <see langword="null"/> where no server was registered (<c>CreateEmptyBuilder</c>).</param>
internal sealed class HttpServer(ServiceDescriptor? registration)
{
    private IServer? _server;

    /// <summary>The addresses it is bound to.</summary>
    public IEnumerable<string> Addresses => _server?.Features.Get<IServerAddressesFeature>()?.Addresses ?? [];

    /// <summary>Whether endpoints are configured for it apart from <c>urls</c>.</summary>
    public static bool HasOwnEndpoints(IConfiguration? configuration) => configuration?.GetSection("Kestrel:Endpoints").GetChildren().Any() ?? false;

    /// <summary>Makes and starts it.</summary>
    /// <param name="services">Its services.</param>
    /// <param name="addresses">Where it listens.</param>
    /// <param name="preferAddresses">Whether they count instead of the endpoints of its own configuration.</param>
    /// <param name="application">What it serves.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async Task StartAsync<TContext>(
        IServiceProvider services, IReadOnlyList<string> addresses, bool preferAddresses, IHttpApplication<TContext> application, CancellationToken cancellationToken)
        where TContext : notnull
    {
        _server = Create(services) ?? throw new InvalidOperationException(
            $"There is no HTTP server to listen on {string.Join(", ", addresses)}. Add one before UseFastCgi, with builder.WebHost.UseKestrelCore(), or use fastcgi:// addresses.");

        if (_server.Features.Get<IServerAddressesFeature>() is { } feature)
        {
            feature.PreferHostingUrls = preferAddresses;
            foreach (var address in addresses)
                feature.Addresses.Add(address);
        }

        await _server.StartAsync(application, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Stops it.</summary>
    public Task StopAsync(CancellationToken cancellationToken) => _server?.StopAsync(cancellationToken) ?? Task.CompletedTask;

    /// <summary>Lets go of it.</summary>
    public void Dispose()
    {
        _server?.Dispose();
        _server = null;
    }

    private IServer? Create(IServiceProvider services)
    {
        if (registration?.ImplementationType is { } type)
            return (IServer)ActivatorUtilities.CreateInstance(services, type);

        return (registration?.ImplementationInstance ?? registration?.ImplementationFactory?.Invoke(services)) as IServer;
    }
}
