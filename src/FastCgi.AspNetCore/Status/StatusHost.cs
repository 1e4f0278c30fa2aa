using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.DependencyInjection.Extensions;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Status;

/// <summary>
/// Serves the status on an address of its own, beside the application: a second server with one loop, which shares nothing with the
/// first but what it reads of it.
/// </summary>
internal sealed class StatusHost(IServiceProvider services, IOptions<FastCgiServerOptions> options, ILoggerFactory loggers) : IHostedLifecycleService, IAsyncDisposable
{
    // Of the machine's own programs, which could otherwise take all descriptors of the application.
    private const int MaxHttpConnections = 32;

    // Behind the stop of the application, whose patience is not for this.
    private static readonly TimeSpan s_stopPatience = TimeSpan.FromSeconds(1);

    private WebApplication? _application;

    /// <summary>Where it listens, a port that the system chose included.</summary>
    public IEnumerable<string> Addresses => _application?.Urls ?? [];

    /// <summary>Starts with the server, behind the endpoints, whose folders it may share: an address that cannot be listened on fails the start.</summary>
    public Task StartingAsync(CancellationToken cancellationToken)
    {
        if (services.GetService<IServer>() is FastCgiServer server && options.Value.StatusAddress is { } address)
            server.Companion = token => ServeAsync(server, address, token);
        return Task.CompletedTask;
    }

    /// <inheritdoc/>
    public Task StartedAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <summary>
    /// Stops at last, so that the end of the application can be watched. Whoever reads slowly, or keeps a connection and says nothing,
    /// does not hold up the end of the process.
    /// </summary>
    public async Task StoppedAsync(CancellationToken cancellationToken)
    {
        if (_application is not { } application)
            return;

        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        patience.CancelAfter(s_stopPatience);
        await application.StopAsync(patience.Token).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        if (_application is { } application)
            await application.DisposeAsync().ConfigureAwait(false);
    }

    private async Task ServeAsync(FastCgiServer server, string address, CancellationToken cancellationToken)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions { ApplicationName = "FastCGI status" });
        builder.Services.AddSingleton(loggers);
        var isHttp = address.StartsWith("http://", StringComparison.OrdinalIgnoreCase);
        if (isHttp)
        {
            RequireLoopback(address);
            builder.WebHost.UseKestrelCore().UseUrls(address).ConfigureKestrel(static kestrel => kestrel.Limits.MaxConcurrentConnections = MaxHttpConnections);
        }
        else
        {
            ServerRegistration.TryAdd(builder.Services, builder.Configuration);
            builder.Services.Configure<FastCgiServerOptions>(status =>
            {
                status.Listen(address);
                status.Transport.LoopCount = 1;
                status.Limits.IdleGrace = TimeSpan.Zero;
                status.IsBesideAnother = true;
            });
        }

        // Signals, and that the application has started, are the application's own host's.
        builder.Services.Replace(ServiceDescriptor.Singleton<IHostLifetime, NoLifetime>());
        // What is measured here is not the application's.
        builder.Services.Replace(ServiceDescriptor.Singleton<IMeterFactory, OwnMeters>());
        _application = builder.Build();
        var reader = StatusEndpoint.MakeReader(server, services);
        _application.Run(context => !isHttp || IsLoopback(context.Request.Host.Host)
            ? StatusEndpoint.AnswerAsync(context, reader)
            : RefuseAsync(context.Response));
        try
        {
            await _application.StartAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException or SocketException or ArgumentException or FormatException or InvalidOperationException)
        {
            throw new IOException($"The status cannot be served at FastCgi:StatusAddress, which is '{address}'. {exception.Message}", exception);
        }
    }

    /// <summary>As Kestrel reads the address: it takes what is neither an address nor localhost for all addresses.</summary>
    private static void RequireLoopback(string address)
    {
        // A semicolon begins another address. What stands behind a question mark or a number sign would be part of the host.
        if (address.Contains(';', StringComparison.Ordinal) || !IsLoopback(ReadHost(address)))
            throw new FormatException($"StatusAddress is '{address}', which others can reach. An http address is one of the machine's own, such as http://127.0.0.1:9100. To show the status to others, put app.MapFastCgiStatus().RequireAuthorization() into the application.");
    }

    private static string ReadHost(string address)
    {
        try
        {
            return BindingAddress.Parse(address).Host;
        }
        catch (FormatException exception)
        {
            throw new FormatException($"StatusAddress is '{address}', which is no address. An http address is one of the machine's own, such as http://127.0.0.1:9100.", exception);
        }
    }

    /// <summary>A page of a stranger, in a browser of this machine, has another host name, whatever address it stands for.</summary>
    private static bool IsLoopback(string host)
        => host.Equals("localhost", StringComparison.OrdinalIgnoreCase) || (IPAddress.TryParse(host, out var address) && IPAddress.IsLoopback(address));

    private static Task RefuseAsync(HttpResponse response)
    {
        response.StatusCode = StatusCodes.Status400BadRequest;
        response.ContentType = "text/plain; charset=utf-8";
        return response.WriteAsync("Ask for the status with the name localhost, or with the address.\n");
    }

    private sealed class NoLifetime : IHostLifetime
    {
        public Task WaitForStartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }

    private sealed class OwnMeters : IMeterFactory
    {
        private readonly List<Meter> _meters = [];

        public Meter Create(MeterOptions options)
        {
            var meter = new Meter("FastCgi.AspNetCore.Status");
            _meters.Add(meter);
            return meter;
        }

        public void Dispose() => _meters.ForEach(static meter => meter.Dispose());
    }
}
