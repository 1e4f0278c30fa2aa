using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections where epoll is not available, through Kestrel's socket transport.</summary>
internal sealed class SocketListener(
    ListeningSocket listeningSocket, ConnectionManager manager, RequestScheduler scheduler)
    : TransportListener(listeningSocket.EndPoint)
{
    private static readonly SocketConnectionContextFactory s_contexts = new(
        new SocketConnectionFactoryOptions
        {
            MaxReadBufferSize = BufferPool.LargeBlockSize,
            UnsafePreferInlineScheduling = true,
        },
        NullLogger.Instance);

    private readonly Socket _socket = listeningSocket.Socket;
    private readonly AcceptFailures _failures = new(listeningSocket.EndPoint, manager.Server);
    private readonly CancellationTokenSource _stop = new();
    private Task? _accepting;

    public override void Start() => _accepting = ThreadRoot.Start(AcceptAsync, manager.Server.Log);

    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        if (_accepting is not null)
            await _accepting.WaitAsync(cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (listeningSocket.Withdraw(manager.Server.Log) && _accepting is not null)
        {
            _socket.Blocking = false;
            for (var i = 0; i < ListeningSocket.MaxRest && TryAccept(); i++)
            {
            }
        }

        _socket.Dispose();
    }

    /// <returns>Whether there may be more connections. If not, the queue is empty.</returns>
    private bool TryAccept()
    {
        try
        {
            OnAccepted(_socket.Accept());
            return true;
        }
        catch (SocketException exception)
        {
            if (!IsOfOneConnection(exception.SocketErrorCode))
                return false;

            _failures.OnLost(exception);
            return true;
        }
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                OnAccepted(await _socket.AcceptAsync(_stop.Token).ConfigureAwait(false));
                continue;
            }
            catch (SocketException exception) when (IsOfOneConnection(exception.SocketErrorCode))
            {
                _failures.OnLost(exception);
                continue;
            }
            catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
            {
                return;
            }
            catch (SocketException exception)
            {
                _failures.OnFailed(ToSystemError(exception));
            }
            catch (Exception exception)
            {
                // Without descriptors or memory, any step can fail.
                _failures.OnStartFailed(exception);
            }

            await Task.Delay(AcceptFailures.RetryDelay, manager.Server.Time, _stop.Token)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <exception cref="SocketException">No descriptor is left. Another process may have free ones.</exception>
    private void OnAccepted(Socket accepted)
    {
        if (_failures.IsBeyondLimit(accepted.Handle))
        {
            accepted.Dispose();
            if (listeningSocket.IsShared)
                throw new SocketException((int)SocketError.TooManyOpenSockets);

            _failures.OnBeyondLimit();
            return;
        }

        ConnectionContext? context = null;
        try
        {
            if (!listeningSocket.Peers.Allows(accepted))
            {
                _failures.OnPeerRefused(
                    listeningSocket.Peers, accepted.AddressFamily == AddressFamily.Unix,
                    () => PeerPolicy.Describe(accepted));
                accepted.Dispose();
                return;
            }

            TcpOptions.Set(accepted);
            // A connection of Kestrel's transport, which owns the socket from now on.
            context = s_contexts.Create(accepted);
            var connection = new PipeConnection(context, accepted, manager, scheduler);
            if (manager.TryAdd(connection.Connection))
                _ = ThreadRoot.Start(connection.RunAsync, manager.Server.Log);
            else
                _ = context.DisposeAsync().AsTask();
        }
        catch (Exception exception)
        {
            accepted.Dispose();
            _ = context?.DisposeAsync().AsTask();
            _failures.OnStartFailed(exception);
        }
    }

    private static int ToSystemError(SocketException exception) => exception.SocketErrorCode switch
    {
        SocketError.TooManyOpenSockets => Libc.ErrorTooManyOpenFiles,
        SocketError.NoBufferSpaceAvailable => Libc.ErrorNoBuffers,
        _ => exception.NativeErrorCode,
    };

    /// <summary>Whether an error concerns only the connection that was to be accepted.</summary>
    private static bool IsOfOneConnection(SocketError error)
        => error is SocketError.ConnectionReset or SocketError.ConnectionAborted or SocketError.Interrupted
            or SocketError.NetworkDown
            or SocketError.HostUnreachable or SocketError.NetworkUnreachable or SocketError.TimedOut;
}
