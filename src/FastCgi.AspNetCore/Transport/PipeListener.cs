namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections from any registered <see cref="IConnectionListenerFactory"/>.</summary>
internal sealed class PipeListener(
    IConnectionListener listener, PeerPolicy peers, ConnectionManager manager, RequestScheduler scheduler)
{
    private readonly LogThrottle _refused = new(manager.Server.Time);
    private readonly LogThrottle _startsFailed = new(manager.Server.Time);
    private Task _accepting = Task.CompletedTask;

    public static TransportListener Create(
        IConnectionListener listener, PeerPolicy peers, ConnectionManager manager, RequestScheduler scheduler)
    {
        var accepting = new PipeListener(listener, peers, manager, scheduler);
        return new TransportListener(listener.EndPoint, accepting.Start, accepting.StopAsync);
    }

    public void Start() => _accepting = ThreadRoot.Start(AcceptAsync, manager.Server.Log);

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        try
        {
            await listener.UnbindAsync(cancellationToken).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
            await _accepting.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            // Even if that failed or timed out, because nothing stops the listener a second time.
            await listener.DisposeAsync().AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    // On another thread: a log provider that blocks must not delay other connections.
    private void Report(long count, EndPoint? peer) => ThreadRoot.Report(
        manager.Server.Log, log => log.PeerRefused(
            listener.EndPoint, count, PeerPolicy.Describe(peer), peers.GetSetting(isUnix: false)));

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
                manager.Server.Counters.OnPeerRefused();
                if (_refused.TryAcquire(out var count))
                    Report(count, context.RemoteEndPoint);
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
            if (_startsFailed.TryAcquire(out _))
                ThreadRoot.Report(manager.Server.Log, log => log.ConnectionStartFailed(listener.EndPoint, exception));
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
