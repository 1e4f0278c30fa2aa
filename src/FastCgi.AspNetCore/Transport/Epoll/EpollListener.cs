namespace FastCgi.AspNetCore.Transport.Epoll;

internal sealed class EpollListener(Engine engine, ListeningSocket listeningSocket)
    : TransportListener(listeningSocket.EndPoint)
{
    private static readonly TimeSpan s_acceptTime = TimeSpan.FromMilliseconds(100);

    private readonly StreamContext _server = engine.Manager.Server;
    private readonly Socket _socket = Prepare(listeningSocket.Socket);
    private readonly bool _isTcp = listeningSocket.Socket.AddressFamily != AddressFamily.Unix;
    private readonly AcceptFailures _failures = new(listeningSocket.EndPoint, engine.Manager.Server);
    private readonly List<EpollAcceptor> _acceptors = [];
    private bool _isWithdrawn;

    // Whether the queue has been empty since the last connection. A race of loops costs at most one extra query.
    private bool _isEmpty;

    public override void Start()
    {
        var descriptor = (int)_socket.Handle;
        foreach (var loop in engine.Loops.Cast<EpollLoop>())
        {
            var acceptor = new EpollAcceptor(AcceptOne, loop, descriptor, _server.Time);
            _acceptors.Add(acceptor);
            if (!acceptor.TryStart())
                throw new IOException($"epoll cannot wait for {EndPoint}: {Libc.GetMessage(Libc.LastError)}.");
        }
    }

    public override async Task StopAsync(CancellationToken cancellationToken)
    {
        Volatile.Write(ref _isWithdrawn, true);
        var acceptsRest = listeningSocket.Withdraw(_server.Log);
        Task[] stopping = [.. _acceptors.Select(static acceptor => acceptor.StopAsync())];
        // An accept in progress ends soon. After an await, the stop would need a pool thread, which may be blocked.
        Task.WaitAll(stopping, s_acceptTime);
        var stopped = Task.WhenAll(stopping);
        await stopped.WaitAsync(cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!stopped.IsCompleted)
        {
            // An accept is still in progress. Close the socket after it, so that it does not log a spurious error.
            _ = ThreadRoot.Start(
                async () =>
                {
                    await stopped.ConfigureAwait(false);
                    _socket.Dispose();
                },
                _server.Log);
            return;
        }

        var rest = acceptsRest && _acceptors.Count > 0 ? ListeningSocket.MaxRest : 0;
        while (rest > 0 && AcceptOne() == AcceptOutcome.Continue)
            rest--;
        _socket.Dispose();
    }

    private static Socket Prepare(Socket socket)
    {
        socket.Blocking = false;
        ListenerOptions.SetTcp(socket);
        return socket;
    }

    /// <summary>Accepts a connection on any thread. Without descriptors or memory, any step can fail.</summary>
    private AcceptOutcome AcceptOne()
    {
        try
        {
            return AcceptCore();
        }
        catch (Exception exception)
        {
            _failures.OnStartFailed(exception);
            return AcceptOutcome.Pause;
        }
    }

    private AcceptOutcome AcceptCore()
    {
        var descriptor = Libc.Accept(_socket.SafeHandle);
        if (descriptor >= 0)
        {
            _isEmpty = false;
            return Take(descriptor);
        }

        var error = Libc.LastError;
        // A Unix socket that another process has shut down reports an empty queue, yet raises the event endlessly.
        if (error == Libc.ErrorAgain && _isEmpty && Libc.IsShutDown((int)_socket.Handle))
            error = Libc.ErrorInvalid;
        // A withdrawn socket with an empty queue reports this error. So does one that another process has shut down.
        if (error == Libc.ErrorAgain || (error == Libc.ErrorInvalid && Volatile.Read(ref _isWithdrawn)))
        {
            _isEmpty = true;
            return AcceptOutcome.Drained;
        }

        if (error == Libc.ErrorInterrupted)
            return AcceptOutcome.Continue;
        if (Libc.IsOfOneConnection(error))
        {
            _failures.OnLost(new SocketException(error, Libc.GetMessage(error)));
            return AcceptOutcome.Continue;
        }

        _failures.OnFailed(error);
        return AcceptOutcome.Pause;
    }

    private AcceptOutcome Take(int descriptor)
    {
        if (!_failures.IsBeyondLimit(descriptor))
        {
            OnAccepted(descriptor);
            return AcceptOutcome.Continue;
        }

        Libc.Close(descriptor);
        _failures.OnFailed(Libc.ErrorTooManyOpenFiles);
        // This freed a descriptor: no delay, unless another process with a free slot must get the next connection.
        return listeningSocket.IsShared ? AcceptOutcome.Pause : AcceptOutcome.Continue;
    }

    private void OnAccepted(int descriptor)
    {
        EpollConnection? connection = null;
        try
        {
            if (listeningSocket.Peers.IsRestricted && !IsAllowed(descriptor))
            {
                Libc.Close(descriptor);
                return;
            }

            connection = new EpollConnection((EpollLoop)engine.ChooseLoop(), descriptor, _isTcp, engine.Manager);
            if (engine.Manager.TryAdd(connection.Connection))
                connection.Start();
            else
                Libc.Close(descriptor);
        }
        catch (Exception exception)
        {
            if (connection is null)
                Libc.Close(descriptor);
            else
                connection.GiveUp();
            _failures.OnStartFailed(exception);
        }
    }

    private bool IsAllowed(int descriptor)
    {
        using var socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
        if (listeningSocket.Peers.Allows(socket))
            return true;

        _failures.OnPeerRefused(() => PeerAddress.Describe(socket));
        return false;
    }
}
