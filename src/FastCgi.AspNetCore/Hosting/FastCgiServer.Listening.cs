using FastCgi.AspNetCore.Transport.Epoll;

namespace FastCgi.AspNetCore.Hosting;

internal sealed partial class FastCgiServer
{
    private Engine CreateEngine(ConnectionManager connections, RequestScheduler scheduler)
    {
        try
        {
            if (UsesEpoll)
                return new Engine(connections, scheduler, static log => new EpollLoop(log));
        }
        catch (IOException exception)
        {
            _log.EpollUnavailable(exception.Message);
            UsesEpoll = false;
        }

        return new Engine(connections, scheduler, static log => new InboxLoop(log));
    }

    /// <summary>In Development, an endpoint for another machine must not prevent serving HTTP.</summary>
    private async ValueTask<TransportListener?> ListenAsync(
        FastCgiListenOptions options, InheritedSockets inherited, bool mayLeaveOut,
        Engine engine, CancellationToken cancellationToken)
    {
        try
        {
            return await ListenAsync(options, inherited, engine, cancellationToken).ConfigureAwait(false);
        }
        catch (IOException exception) when (options.MayBeAbsent
            && exception.InnerException is SocketException
            {
                SocketErrorCode: SocketError.AddressNotAvailable or SocketError.AddressFamilyNotSupported,
            })
        {
            _log.AddressAbsent(EndpointAddress.Format(options.EndPoint));
            return null;
        }
        catch (IOException exception) when (mayLeaveOut && options.Origin != EndpointPlan.UrlsOrigin)
        {
            _log.EndpointLeftOut(options.Origin, exception.Message);
            return null;
        }
    }

    private async ValueTask<TransportListener> ListenAsync(
        FastCgiListenOptions options, InheritedSockets inherited, Engine engine, CancellationToken cancellationToken)
    {
        if (options.EndPoint is IPEndPoint or UnixDomainSocketEndPoint or FileHandleEndPoint)
        {
            var socket = SocketBinder.Listen(options, inherited, _log);
            if (Options.EnableAdvice && OperatingSystem.IsLinux())
                SocketReach.Report(options, socket, _log);
            if (PeerPolicies.IsOpen(socket.Peers, socket.EndPoint))
                _log.OpenToEverybody(EndpointAddress.Format(socket.EndPoint));
            if (options.EndPoint is not FileHandleEndPoint && ResourceLimits.GetBacklog() is var limit
                && limit < options.Backlog)
                _log.BacklogCut(limit, options.Backlog, EndpointAddress.Format(socket.EndPoint));
            if (UsesEpoll)
                return new EpollListener(engine, socket);

            var kestrel = await PipeListener.BindAsync(socket, options.Backlog, cancellationToken)
                .ConfigureAwait(false);
            return new PipeListener(kestrel, socket.EndPoint, socket.Peers, engine);
        }

        // As in Kestrel, the last registered factory that can bind it.
        var factory = listenerFactories.LastOrDefault(
            factory => factory is not IConnectionListenerFactorySelector selector || selector.CanBind(options.EndPoint))
            ?? throw new InvalidOperationException($"No registered {nameof(IConnectionListenerFactory)} can bind "
                + $"{options}. Register one, or remove the endpoint.");
        var peers = PeerPolicies.Create(options, options.EndPoint);
        var listener = await BindAsync(factory, options.EndPoint, cancellationToken).ConfigureAwait(false);
        return new PipeListener(listener, listener.EndPoint, peers, engine);
    }

    /// <summary>Binds. A canceled start does not await a factory that ignores it; disposes late listeners.</summary>
    private async Task<IConnectionListener> BindAsync(
        IConnectionListenerFactory factory, EndPoint endPoint, CancellationToken cancellationToken)
    {
        var binding = factory.BindAsync(endPoint, cancellationToken).AsTask();
        try
        {
            return await binding.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!binding.IsCanceled)
        {
            _ = ThreadRoot.Start(() => DisposeWhenBoundAsync(binding), _log);
            throw;
        }
    }

    private static async Task DisposeWhenBoundAsync(Task<IConnectionListener> binding)
    {
        await ((Task)binding).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (binding.IsCompletedSuccessfully)
            await binding.Result.DisposeAsync().ConfigureAwait(false);
    }

    private void PublishAddresses()
    {
        addresses.Publish(
            [.. _listeners.Select(static listener => EndpointAddress.Format(listener.EndPoint)),
                .. previousServer.Addresses]);
        foreach (var address in addresses)
            _log.Listening(address);

        if (!Options.EnableAdvice || _listeners.Count == 0 || !IsDevelopment)
            return;

        var endPoint = _listeners[0].EndPoint;
        var blocks = WebServerBlock.Create(
            endPoint, Options.PathBase, environment!.ApplicationName, Socket.OSSupportsIPv6, Path.Exists);
        foreach (var block in blocks)
            _log.WebServerFound(block.Server, EndpointAddress.Format(endPoint), block.File, block.Command, block.Text);
    }

    private void LogStatusEndpoints(IReadOnlyList<(string Path, StatusAudience Audience)> endpoints)
    {
        foreach (var (path, audience) in endpoints)
        {
            if (audience == StatusAudience.Unspecified && !IsDevelopment)
                _log.StatusNotShown(path);
            else
                _log.StatusShown(path, audience == StatusAudience.Authorized
                    ? "users that satisfy its authorization policy"
                    : "anyone who can reach it");
        }
    }

    /// <summary>Detects a start from another folder than that of the published application.</summary>
    /// <param name="environment">The environment; hosting leaves WebRootPath empty if there is no wwwroot.</param>
    internal static void ReportWebRoot(IWebHostEnvironment? environment, string baseDirectory, ILogger log)
    {
        if (environment is not null && string.IsNullOrEmpty(environment.WebRootPath)
            && Directory.Exists(Path.Combine(baseDirectory, "wwwroot")))
            log.WebRootMissing(environment.ContentRootPath, Path.TrimEndingDirectorySeparator(baseDirectory));
    }
}
