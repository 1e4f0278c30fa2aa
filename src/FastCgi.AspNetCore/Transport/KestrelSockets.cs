using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging.Abstractions;

namespace FastCgi.AspNetCore.Transport;

/// <summary>Kestrel's socket transport, for systems without epoll.</summary>
internal static class KestrelSockets
{
    // A flush then waits until the socket has accepted everything, so a send shows how much the peer reads.
    private const int SmallestWriteBuffer = 2;

    public static ValueTask<IConnectionListener> BindAsync(
        ListeningSocket socket, int backlog, CancellationToken cancellationToken)
    {
        TcpOptions.Set(socket.Socket);
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
}
