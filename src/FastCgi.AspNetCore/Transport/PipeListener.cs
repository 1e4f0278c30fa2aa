namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections from any registered <see cref="IConnectionListenerFactory"/>.</summary>
internal sealed class PipeListener(
    IConnectionListener listener, PeerPolicy peers, ConnectionManager manager, RequestScheduler scheduler)
    : TransportListener(listener.EndPoint)
{
    private readonly AcceptFailures _failures = new(listener.EndPoint, manager.Server);
    private Task _accepting = Task.CompletedTask;

    public override void Start() => _accepting = ThreadRoot.Start(AcceptAsync, manager.Server.Log);

    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        try
        {
            await listener.UnbindAsync(cancellationToken).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
            await _accepting.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            // Even after a failure or timeout, because nothing stops the listener a second time.
            await listener.DisposeAsync().AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (await listener.AcceptAsync().ConfigureAwait(false) is { } context)
            {
                if (!TryServe(context))
                    _ = CloseAsync(context);
            }
        }
        catch (Exception exception)
        {
            manager.Server.Log.AcceptLoopFailed(listener.EndPoint, exception);
        }
    }

    private bool TryServe(ConnectionContext context)
    {
        try
        {
            if (!peers.Allows(context.RemoteEndPoint))
            {
                _failures.OnPeerRefused(peers, isUnix: false, () => PeerPolicy.Describe(context.RemoteEndPoint));
                return false;
            }

            var connection = new PipeConnection(context, socket: null, manager, scheduler);
            if (!manager.TryAdd(connection.Connection))
                return false;

            _ = ThreadRoot.Start(connection.RunAsync, manager.Server.Log);
            return true;
        }
        catch (Exception exception)
        {
            _failures.OnStartFailed(exception);
            return false;
        }
    }

    private static async Task CloseAsync(ConnectionContext context)
    {
        try
        {
            context.Abort();
            await context.DisposeAsync().ConfigureAwait(false);
        }
        catch (Exception)
        {
            // A custom transport may throw anything. The next connection is not affected.
        }
    }
}
