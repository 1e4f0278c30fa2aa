using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections for the Socket engine.</summary>
/// <param name="socket">A socket that listens.</param>
/// <param name="manager">The connections of the server.</param>
internal sealed class SocketListener(Socket socket, ConnectionManager manager) : TransportListener
{
    // How long to wait for descriptors or memory to come back before the next attempt.
    private static readonly TimeSpan s_retryDelay = TimeSpan.FromMilliseconds(100);

    private Task _accepting = Task.CompletedTask;
    private bool _isStopping;

    /// <inheritdoc/>
    public override EndPoint EndPoint { get; } = socket.LocalEndPoint!;

    /// <inheritdoc/>
    public override void Start()
    {
        using (ExecutionContext.SuppressFlow())
            _accepting = Task.Run(AcceptAsync);
    }

    /// <inheritdoc/>
    public override async ValueTask StopAsync()
    {
        Volatile.Write(ref _isStopping, true);
        socket.Dispose();
        await _accepting.ConfigureAwait(false);
    }

    private async Task AcceptAsync()
    {
        while (!Volatile.Read(ref _isStopping))
        {
            try
            {
                OnAccepted(await socket.AcceptAsync().ConfigureAwait(false));
            }
            catch (Exception) when (Volatile.Read(ref _isStopping))
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
