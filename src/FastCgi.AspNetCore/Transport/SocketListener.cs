using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Accepts connections for the Socket engine.</summary>
/// <param name="socket">A socket that listens.</param>
/// <param name="isShared">Whether other processes accept connections on it too.</param>
/// <param name="manager">The connections of the server.</param>
internal sealed class SocketListener(Socket socket, bool isShared, ConnectionManager manager) : TransportListener
{
    // How long to wait for descriptors or memory to come back before the next attempt.
    private static readonly TimeSpan s_retryDelay = TimeSpan.FromMilliseconds(100);

    private readonly CancellationTokenSource _stop = new();
    private Task? _accepting;

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
        await _stop.CancelAsync().ConfigureAwait(false);
        if (_accepting is not null)
        {
            await _accepting.ConfigureAwait(false);
            // What waits at a shared socket is left to the others.
            if (!isShared)
                await AcceptRestAsync().ConfigureAwait(false);
        }

        socket.Dispose();
        _stop.Dispose();
    }

    private async Task AcceptRestAsync()
    {
        try
        {
            await ConnectRefusal.BeginAsync(socket).ConfigureAwait(false);
            socket.Blocking = false;
            while (true)
                OnAccepted(socket.Accept());
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
                OnAccepted(await socket.AcceptAsync(_stop.Token).ConfigureAwait(false));
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
