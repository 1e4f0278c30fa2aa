using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Transport;

internal sealed class PipeListener(IConnectionListener listener, EndPoint endPoint, PeerPolicy peers, Engine engine)
    : TransportListener(endPoint)
{
    // A flush then waits until the socket has accepted everything, so a send shows how much the peer reads.
    private const int SmallestWriteBuffer = 2;

    private readonly StreamContext _server = engine.Manager.Server;
    private readonly AcceptFailures _failures = new(endPoint, engine.Manager.Server);
    private Task _accepting = Task.CompletedTask;

    /// <summary>Binds with Kestrel's socket transport, for systems without epoll.</summary>
    public static ValueTask<IConnectionListener> BindAsync(
        ListeningSocket socket, int backlog, CancellationToken cancellationToken)
    {
        ListenerOptions.SetTcp(socket.Socket);
        var options = new SocketTransportOptions
        {
            Backlog = backlog,
            CreateBoundListenSocket = _ => socket.Socket,
            MaxWriteBufferSize = SmallestWriteBuffer,
            UnsafePreferInlineScheduling = true,
        };
        return new SocketTransportFactory(Options.Create(options), NullLoggerFactory.Instance)
            .BindAsync(socket.EndPoint, cancellationToken);
    }

    public override void Start() => _accepting = ThreadRoot.Start(AcceptAsync, _server.Log);

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
            ThreadRoot.Report(_server.Log, log => log.AcceptLoopFailed(EndPoint, exception));
        }
    }

    private bool TryServe(ConnectionContext context)
    {
        try
        {
            var socket = peers.IsRestricted ? context.Features.Get<IConnectionSocketFeature>()?.Socket : null;
            if (!(socket is null ? peers.Allows(context.RemoteEndPoint) : peers.Allows(socket)))
            {
                _failures.OnPeerRefused(
                    () => socket is null ? PeerAddress.Describe(context.RemoteEndPoint) : PeerAddress.Describe(socket));
                return false;
            }

            var connection = new PipeConnection(context, engine.ChooseLoop(), engine.Manager);
            if (!engine.Manager.TryAdd(connection.Connection))
                return false;

            _ = ThreadRoot.Start(connection.RunAsync, _server.Log);
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
