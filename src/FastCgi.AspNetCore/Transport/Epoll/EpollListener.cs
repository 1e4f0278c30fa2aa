using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Accepts connections for the epoll engine: all loops wait for them, and each goes to the loop that has the fewest.</summary>
internal sealed class EpollListener : TransportListener
{
    private readonly EpollEngine _engine;
    private readonly ListeningSocket _listeningSocket;
    private readonly Socket _socket;
    private readonly List<(EpollLoop Loop, EpollAcceptor Acceptor)> _acceptors = [];

    public EpollListener(EpollEngine engine, ListeningSocket listeningSocket)
    {
        _engine = engine;
        _listeningSocket = listeningSocket;
        _socket = listeningSocket.Socket;
        _socket.Blocking = false;
        TcpOptions.Set(_socket);
    }

    /// <inheritdoc/>
    public override EndPoint EndPoint => _listeningSocket.EndPoint;

    /// <inheritdoc/>
    public override void Start()
    {
        var descriptor = (int)_socket.Handle;
        var isTcp = _socket.AddressFamily != AddressFamily.Unix;
        foreach (var loop in _engine.Loops)
        {
            var acceptor = new EpollAcceptor(_engine, loop, descriptor, isTcp, EndPoint, _listeningSocket.Peers);
            if (!loop.Add(acceptor, descriptor, Libc.EpollIn | Libc.EpollExclusive))
                throw new IOException($"epoll cannot wait for {EndPoint}.", new IOException(Marshal.GetPInvokeErrorMessage(Libc.LastError)));
            _acceptors.Add((loop, acceptor));
        }
    }

    /// <inheritdoc/>
    public override async ValueTask StopAsync()
    {
        var acceptsRest = await _listeningSocket.WithdrawAsync().ConfigureAwait(false);

        // On their own threads, so that none of them accepts while the socket is closed.
        foreach (var (loop, acceptor) in _acceptors)
        {
            var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            loop.Post(() =>
            {
                acceptor.Stop(acceptsRest);
                done.SetResult();
            });
            await done.Task.ConfigureAwait(false);
        }

        _socket.Dispose();
    }
}
