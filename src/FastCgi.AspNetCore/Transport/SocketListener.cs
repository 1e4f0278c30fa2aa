using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections for the Socket engine.</summary>
/// <param name="listenSocket">A socket that listens.</param>
/// <param name="manager">The connections of the server.</param>
internal sealed class SocketListener(ListenSocket listenSocket, ConnectionManager manager) : TransportListener
{
    // How long to wait for descriptors or memory to come back before the next attempt.
    private static readonly TimeSpan s_retryDelay = TimeSpan.FromMilliseconds(100);

    private readonly Socket _socket = listenSocket.Socket;
    private readonly CancellationTokenSource _stopping = new();
    private Task? _accepting;

    /// <inheritdoc/>
    public override EndPoint EndPoint => listenSocket.EndPoint;

    /// <inheritdoc/>
    public override void Start()
    {
        using (ExecutionContext.SuppressFlow())
            _accepting = Task.Run(AcceptAsync);
    }

    /// <inheritdoc/>
    public override async ValueTask StopAsync()
    {
        listenSocket.Withdraw();
        await _stopping.CancelAsync().ConfigureAwait(false);
        if (_accepting is not null)
        {
            await _accepting.ConfigureAwait(false);
            if (!listenSocket.OutlivesTheProcess)
                AcceptWaiting();
        }

        _socket.Dispose();
    }

    private async Task AcceptAsync()
    {
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                OnAccepted(await _socket.AcceptAsync(_stopping.Token).ConfigureAwait(false));
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

    /// <summary>Accepts the connections that came before the end.</summary>
    private void AcceptWaiting()
    {
        _socket.Blocking = false;
        try
        {
            while (true)
                OnAccepted(_socket.Accept());
        }
        catch (SocketException)
        {
            // There are no more.
        }
    }

    private void OnAccepted(Socket accepted)
    {
        if (accepted.AddressFamily != AddressFamily.Unix)
        {
            accepted.NoDelay = true;
            accepted.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        }

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
