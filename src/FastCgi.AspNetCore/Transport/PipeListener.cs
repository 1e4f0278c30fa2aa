using System.Net;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections of any transport that is registered as <see cref="IConnectionListenerFactory"/>.</summary>
internal sealed class PipeListener(IConnectionListener listener, PeerPolicy peers, ConnectionManager manager, RequestScheduler scheduler) : TransportListener
{
    private readonly LogRateLimit _refused = new(manager.Server.Time);
    private Task _accepting = Task.CompletedTask;

    /// <inheritdoc/>
    public override EndPoint EndPoint => listener.EndPoint;

    /// <inheritdoc/>
    public override void Start()
    {
        _accepting = ThreadRoot.Start(AcceptAsync, manager.Server.Log);
    }

    /// <inheritdoc/>
    public override async ValueTask StopAsync(CancellationToken cancellationToken)
    {
        await listener.UnbindAsync(cancellationToken).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        await _accepting.WaitAsync(cancellationToken).ConfigureAwait(false);
        await listener.DisposeAsync().AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (await listener.AcceptAsync().ConfigureAwait(false) is { } context)
            {
                if (!peers.Allows(context.RemoteEndPoint))
                {
                    if (_refused.TryAcquire(out var count))
                        manager.Server.Log.PeerRefused(EndPoint, count, PeerPolicy.Describe(context.RemoteEndPoint), peers.GetSetting(isUnix: false));
                    context.Abort();
                    continue;
                }

                var connection = new PipeConnection(context, manager, scheduler);
                if (manager.TryAdd(connection.Connection))
                    _ = ThreadRoot.Start(connection.RunAsync, manager.Server.Log);
                else
                    context.Abort();
            }
        }
        catch (Exception exception)
        {
            manager.Server.Log.AcceptLoopFailed(EndPoint, exception);
        }
    }
}
