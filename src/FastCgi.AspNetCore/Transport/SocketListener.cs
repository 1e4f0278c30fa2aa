using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections for the Socket engine.</summary>
/// <param name="listeningSocket">A socket that listens.</param>
/// <param name="manager">The connections of the server.</param>
internal sealed class SocketListener(ListeningSocket listeningSocket, ConnectionManager manager) : TransportListener
{
    // How long to wait for descriptors or memory to come back before the next attempt.
    private static readonly TimeSpan s_retryDelay = TimeSpan.FromMilliseconds(100);

    private readonly Socket _socket = listeningSocket.Socket;
    private readonly CancellationTokenSource _stop = new();
    private Task? _accepting;

    /// <inheritdoc/>
    public override EndPoint EndPoint => listeningSocket.EndPoint;

    /// <inheritdoc/>
    public override void Start()
    {
        using (ExecutionContext.SuppressFlow())
            _accepting = Task.Run(AcceptAsync);
    }

    /// <inheritdoc/>
    public override async ValueTask StopAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        if (_accepting is not null)
            await _accepting.ConfigureAwait(false);
        if (await listeningSocket.WithdrawAsync().ConfigureAwait(false) && _accepting is not null)
            AcceptRest();

        _socket.Dispose();
        _stop.Dispose();
    }

    private void AcceptRest()
    {
        try
        {
            _socket.Blocking = false;
            while (true)
                OnAccepted(_socket.Accept());
        }
        catch (SocketException)
        {
            // There is no more.
        }
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                OnAccepted(await _socket.AcceptAsync(_stop.Token).ConfigureAwait(false));
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (SocketException exception) when (IsOfOneConnection(exception.SocketErrorCode))
            {
                manager.Server.Log.AcceptFailed(exception);
            }
            catch (SocketException exception)
            {
                manager.Server.Log.AcceptOutOfResources(EndPoint, exception);
                await Task.Delay(s_retryDelay, manager.Server.Time).ConfigureAwait(false);
            }
        }
    }

    private void OnAccepted(Socket accepted)
    {
        if (!listeningSocket.Peers.Allows(accepted))
        {
            manager.Server.Log.PeerRefused(EndPoint);
            accepted.Dispose();
            return;
        }

        TcpOptions.Set(accepted);
        var connection = new SocketConnection(accepted, manager);
        if (manager.TryAdd(connection.Connection))
            connection.Start();
        else
            accepted.Dispose();
    }

    /// <summary>Errors of the connection that was to be accepted, which says nothing about the next.</summary>
    private static bool IsOfOneConnection(SocketError error)
        => error is SocketError.ConnectionReset or SocketError.ConnectionAborted or SocketError.Interrupted or SocketError.NetworkDown
            or SocketError.HostUnreachable or SocketError.NetworkUnreachable or SocketError.TimedOut;
}
